// Command migrate is an example of how to migrate a Deployment from get-modify-update to
// Server-Side Apply with intents. Each run does one of three steps: look, migrate or apply.
// docs/migrating.md explains the steps. A test in test/integration runs them on a real API server.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

func main() {
	config, err := ctrl.GetConfig()
	if err == nil {
		err = run(ctrl.SetupSignalHandler(), config, os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "migrate:", err)
		os.Exit(1)
	}
}

// run does one step with a Deployment. args are the step (look, migrate or apply), the namespace,
// the name, and optional paths (see the variable paths).
func run(ctx context.Context, config *rest.Config, args []string) (err error) {
	steps := map[string]func(context.Context, *apply.Applier, apply.Intent) error{"look": look, "migrate": goOver, "apply": firstApply}
	if len(args) < 3 || steps[args[0]] == nil {
		return errors.New("usage: migrate look|migrate|apply NAMESPACE NAME [PATH ...]")
	}
	if len(args) > 3 {
		paths = args[3:]
	}
	config = rest.CopyConfig(config)
	config.Wrap(apply.RecordExchange) // before the first client is made; otherwise Apply returns Configured instead of Created
	shop, err := cluster.New(config)
	if err != nil {
		return err
	}
	applier, err := newApplier(shop)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- shop.Start(ctx) }() // starts the cache, from which the client reads
	defer func() { stop(); err = errors.Join(err, <-ended) }()
	return steps[args[0]](ctx, applier, apply.Intent{Config: web(args[1], args[2])})
}

// newApplier returns an Applier for a cluster. A manager of controller-runtime is also a cluster.
func newApplier(shop cluster.Cluster) (*apply.Applier, error) {
	schemas, err := discovery.NewDiscoveryClientForConfigAndClient(shop.GetConfig(), shop.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	steady, err := apply.NewSteadyState(shop.GetCache(), schemas.OpenAPIV3())
	if err != nil {
		return nil, err
	}
	return apply.New(shop.GetClient(), apply.Config{
		FieldManager: "example-workload",
		LiveReader:   shop.GetAPIReader(),
		Steady:       steady, // recognises no-ops even before the first apply of this process
	})
}

func look(ctx context.Context, applier *apply.Applier, intent apply.Intent) error {
	plan, err := applier.Plan(ctx, intent)
	if err != nil {
		return err // the API server would reject the intent, or is not reachable
	}
	fmt.Print(plan)
	return plan.Refused // the conflicts: fields that the intent sets to other values than their owners
}

// oldName is the field manager of the old code.
const oldName = "manager"

// paths are the fields that both the old code and the new intent set. The arguments PATH replace these defaults.
var paths = []string{".metadata.labels", ".metadata.annotations", ".metadata.ownerReferences", ".spec"}

// goOver moves the ownership of fields of one object from the old field manager to the Applier. If the first apply
// would then fail, change the object, or leave fields shared with the old field manager, goOver undoes the move.
func goOver(ctx context.Context, applier *apply.Applier, intent apply.Intent) error {
	object, err := intent.Object()
	if err != nil {
		return err
	}
	transfer, err := ownership.Migrate(ctx, applier, object, ownership.From{Manager: oldName, Paths: paths})
	if err != nil {
		return err
	}
	fmt.Print(transfer) // only the plan of the move: the object is not changed yet
	undo, err := transfer.Do(ctx)
	if err != nil {
		return err // goOver may be called again: fields that have already moved are skipped
	}
	plan, err := applier.Plan(ctx, intent)
	if err == nil {
		err = errors.Join(plan.Refused, notClean(plan))
	}
	if err != nil {
		fmt.Print(plan)
		_, undone := undo.Do(ctx)
		return errors.Join(err, undone)
	}
	return nil
}

// notClean returns an error if the first apply would change the object, or would share fields with oldName.
func notClean(plan apply.Plan) error {
	var why []string
	for _, change := range plan.Changes {
		why = append(why, change.String())
	}
	for _, shared := range plan.Shared {
		if shared.Manager.Name == oldName {
			why = append(why, fmt.Sprintf("%s would stay shared with %s", shared.Path, shared.Manager))
		}
	}
	if len(why) == 0 {
		return nil
	}
	return fmt.Errorf("%v was not migrated and is left as it was: set in Emit each field that the first apply would change, "+
		"and pass as PATH all paths to move (they replace the defaults), including those that would stay shared with the old manager: %s",
		plan.Object, strings.Join(why, "; "))
}

func firstApply(ctx context.Context, applier *apply.Applier, intent apply.Intent) error {
	outcome, err := applier.Apply(ctx, intent)
	fmt.Println(outcome.Action)
	return err
}

// web returns the apply configuration of the Deployment. In a real reconciler, this is the function Emit.
func web(namespace, name string) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": name}
	return appsv1ac.Deployment(name, namespace).WithLabels(labels).
		WithAnnotations(map[string]string{"example.com/team": "shop"}).
		WithSpec(appsv1ac.DeploymentSpec().
			WithReplicas(1).
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
				WithSpec(corev1ac.PodSpec().WithContainers(
					corev1ac.Container().WithName("web").WithImage("example.com/web:1")))))
}
