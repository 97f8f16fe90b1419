package platform

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/apply/reconciler"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/fights"
	"coapply.dev/internal/controller/setup"
	"coapply.dev/test/kit"
)

// TestLoop has two reconcilers that answer each other: ping writes what pong reports
// into a Service, and pong reports something else than the Service says.
func TestLoop(t *testing.T) {
	t.Parallel()
	p := kit.NewPlatform(t)
	p.Only = []func(ctrl.Manager, setup.Options) error{setupPing, setupPong}
	p.See = func(options *cache.Options) { options.DefaultTransform = nil } // which keeps what the contract has, and these are not in it
	var err error
	if p.Contention, err = contention.New(fights.Config()); err != nil {
		t.Fatal(err)
	}
	p.Run(t, p.Config(), apply.Reject)

	p.Create(t, "box")
	waitForContended(t, p, "box", metav1.ConditionTrue, "ReconcileLoop: ",
		"coapply-test-ping, in Service "+p.Namespace+"/box", "coapply-test-pong, in Devbox "+p.Namespace+"/box", "answer each other")
	waitForEvent(t, p, "Devbox", "box", contention.ReasonLoop, "coapply-test-ping", "coapply-test-pong", "stop writing what the other reads")
	waitForEvent(t, p, "Service", "box", contention.ReasonLoop, "coapply-test-ping", "coapply-test-pong")
	wantMetrics(t, p, `
		coapply_fights_total{kind="Service",manager="coapply-test-ping",other="coapply-test-pong",reason="ReconcileLoop"} 1
		coapply_fights_active{reason="OwnershipFight"} 0
		coapply_fights_active{reason="ReconcileLoop"} 1
		coapply_fights_active{reason="UnknownWriter"} 0
	`)
}

const saidAnnotation = "example.com/said"

func setupPing(_ ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, "coapply-test-ping", func(box *v1alpha1.Devbox) ([]apply.Intent, error) {
		service := corev1ac.Service(box.Name, box.Namespace).
			WithOwnerReferences(setup.OwnedBy("Devbox", box)).
			WithAnnotations(map[string]string{saidAnnotation: box.Status.ContentID}).
			WithSpec(corev1ac.ServiceSpec().WithPorts(corev1ac.ServicePort().WithPort(1)))
		return []apply.Intent{{Config: service}}, nil
	}).
		Named("ping").
		Owns(&corev1.Service{}).
		DependsOn(func(box *v1alpha1.Devbox) any { return box.Status.ContentID }).
		Complete()
}

func setupPong(mgr ctrl.Manager, options setup.Options) error {
	return coapply.For(options.Runtime, "coapply-test-pong", func(*v1alpha1.Devbox) ([]apply.Intent, error) { return nil, nil }).
		Named("pong").
		Owns(&corev1.Service{}).
		Status(func(ctx context.Context, box *v1alpha1.Devbox, _ reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
			time.Sleep(200 * time.Millisecond) // other tests want the processor as well
			var service corev1.Service
			if err := mgr.GetClient().Get(ctx, client.ObjectKeyFromObject(box), &service); err != nil {
				return reconciler.Report[*v1alpha1.Devbox]{}, client.IgnoreNotFound(err)
			}
			said := service.Annotations[saidAnnotation]
			return reconciler.Report[*v1alpha1.Devbox]{Change: func(box *v1alpha1.Devbox) error {
				if box.Status.ContentID = "tick"; said == "tick" {
					box.Status.ContentID = "tock"
				}
				return nil
			}}, nil
		}).
		Complete()
}

// TestNoFalseFights has Devboxes and a NodeSet live under every reconciler, and then
// looks at everything that there is on that control plane.
func TestNoFalseFights(t *testing.T) {
	t.Parallel()
	whole := kit.WholePlatform(t)
	p := &kit.Platform{Client: whole.Client, Namespace: kit.NewNamespace(t, whole.Client)}
	for i := range 3 {
		p.Create(t, fmt.Sprint("box", i))
	}
	createNodeSet(t, p, "nodes", 5)
	for _, spec := range []string{`{"replicas":12,"maxUnavailable":6}`, `{"replicas":4}`, `{"image":"registry.example.com/slurmd:2"}`} {
		waitForNodes(t, p, "nodes")
		p.Patch(t, &v1alpha1.NodeSet{}, "nodes", `{"spec":`+spec+`}`)
	}
	waitForNodes(t, p, "nodes")
	for _, state := range []v1alpha1.DevboxState{v1alpha1.DevboxStopped, v1alpha1.DevboxRunning, v1alpha1.DevboxShutdown, v1alpha1.DevboxRunning} {
		for i := range 3 {
			set(t, p, fmt.Sprint("box", i), state)
			waitForPhase(t, p, fmt.Sprint("box", i), v1alpha1.DevboxPhase(state))
		}
	}
	for _, list := range []client.ObjectList{
		&v1alpha1.DevboxList{}, &v1alpha1.LicenseList{}, &v1alpha1.NodeMaintenanceList{},
		&v1alpha1.NodeSetList{}, &v1alpha1.SlurmControllerList{}, &v1alpha1.UserList{},
	} {
		wantNoneContended(t, p.Client, list)
	}
	wantMetrics(t, whole, `
		coapply_fights_active{reason="OwnershipFight"} 0
		coapply_fights_active{reason="ReconcileLoop"} 0
		coapply_fights_active{reason="UnknownWriter"} 0
	`)
}

// wantNoneContended looks at the managed fields: whoever was ever marked has the mark.
func wantNoneContended(t *testing.T, c client.Client, list client.ObjectList) {
	t.Helper()
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		for _, entry := range object.(client.Object).GetManagedFields() {
			if entry.Manager == fieldmanagers.Fights {
				t.Errorf("%T %s: marked: %+v", object, object.(client.Object).GetName(), object)
			}
		}
	}
}
