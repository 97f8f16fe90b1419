package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
)

// demonstration is the state of one run of the command "platform demo".
type demonstration struct {
	platform *platform
	show     *show
	stderr   io.Writer
	selector string // label selector of the NodeSet's pods
}

// demo runs the command "platform demo". It runs the steps one after another; each step prints and checks its result.
func demo(ctx context.Context, stdout, stderr io.Writer) (err error) {
	d := &demonstration{show: newShow(stdout), stderr: stderr}
	if _, _, err := prerequisites(); err != nil {
		return err
	}
	if _, err := localcluster.Ensure(ctx, stderr); err != nil {
		return err
	}
	start := time.Now()
	defer func() {
		if d.platform != nil {
			err = errors.Join(err, d.platform.stop(ctx))
		}
		if err == nil {
			fmt.Fprintf(stdout, "\nDone in %.1f s; nothing is left running.\n", time.Since(start).Seconds())
		}
	}()
	for _, step := range []func(context.Context){
		d.start,
		d.createDevboxes,
		d.showOwners,
		d.scaleUnderReject,
		d.scaleUnderForce,
		d.secondApplier,
		d.stopAndRun,
		d.shutdown,
		d.deletion,
		d.tenant,
		d.quota,
		d.slurm,
		d.scaleAndRoll,
		d.maintenance,
		d.uncordon,
		d.fight,
	} {
		if err := carryOut(ctx, step); err != nil {
			return fmt.Errorf("step %d failed: %w%s", d.show.steps, err, d.managersLog())
		}
	}
	return nil
}

// managersLog returns the last lines of the manager's log, for the error of a failed step. The demo deletes the log.
func (d *demonstration) managersLog() string {
	if d.platform == nil || d.platform.manager == nil {
		return ""
	}
	return "\nthe last lines of the manager's log:\n" + d.platform.manager.lastLines()
}

func (d *demonstration) start(ctx context.Context) {
	d.show.step("A real control plane with three simulated nodes",
		"etcd, kube-apiserver, kube-controller-manager and kube-scheduler, on loopback",
		"only. The CRDs and RBAC of config/ are installed; the manager runs with the",
		"rights of its service account. It is started with --replicas-conflict Reject,",
		"so that it does not change replicas that a person has set.")
	d.platform = must(startPlatform(ctx, localcluster.Options{Name: "demo", Nodes: demoNodes, Log: d.stderr}))
	check(d.platform.startManager(ctx, "Reject"))
	d.kubectl(ctx, "get", "nodes")
	d.show.ok("the manager is ready: its caches are synced")
}

var boxes = []string{"alpha", "beta", "gamma"}

func (d *demonstration) createDevboxes(ctx context.Context) {
	d.show.step("Three Devboxes, each made by four reconcilers",
		"workload applies the Deployment, power its replicas, network the Service, and",
		"content sets the pod's content ID. All four write to the Devbox's status.")
	for _, name := range boxes {
		network := v1alpha1.NetworkClusterIP
		if name == "beta" {
			network = v1alpha1.NetworkNodePort
		}
		d.createBox(ctx, client.ObjectKey{Namespace: "default", Name: name}, network)
	}
	for _, name := range boxes {
		d.waitFor(ctx, name, "the pod runs, and the Applied conditions are True", settled)
	}
	d.get(ctx, "devboxes", "deployments", "pods")
	d.show.ok("every Devbox is Running, and all its conditions are True")
}

func (d *demonstration) createBox(ctx context.Context, key client.ObjectKey, network v1alpha1.NetworkType) {
	d.create(ctx, &v1alpha1.Devbox{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1", Network: v1alpha1.DevboxNetwork{Type: network}},
	})
}

// create creates objects with the field manager "person". In the demo, this name stands for a person
// who uses kubectl create.
func (d *demonstration) create(ctx context.Context, objects ...client.Object) {
	for _, object := range objects {
		check(d.platform.client.Create(ctx, object, client.FieldOwner("person")))
	}
}

// settled returns "" if a Devbox is Running and all its Applied conditions are True. Otherwise it
// describes what is missing.
func settled(box *v1alpha1.Devbox) string {
	if box.Status.Phase != v1alpha1.PhaseRunning {
		return "phase " + string(box.Status.Phase)
	}
	for _, wanted := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied} {
		if missing := conditionIs(wanted, "True", "Applied")(box); missing != "" {
			return missing
		}
	}
	return ""
}

func conditionIs(conditionType, status, reason string) func(*v1alpha1.Devbox) string {
	return func(box *v1alpha1.Devbox) string {
		return unlessCondition(box.Status.Conditions, conditionType, status, reason)
	}
}

func phaseIs(phase v1alpha1.DevboxPhase) func(*v1alpha1.Devbox) string {
	return func(box *v1alpha1.Devbox) string {
		if box.Status.Phase == phase {
			return ""
		}
		return fmt.Sprintf("phase %q", box.Status.Phase)
	}
}

// waitFor waits until the given function returns "" for the Devbox with the given name, and returns the Devbox. The
// argument what describes the awaited state in the error message.
func (d *demonstration) waitFor(ctx context.Context, name, what string, missing func(*v1alpha1.Devbox) string) *v1alpha1.Devbox {
	return await(ctx, d, client.ObjectKey{Namespace: "default", Name: name}, what, missing)
}

// setState sets spec.state of a Devbox with the field manager "person".
func (d *demonstration) setState(ctx context.Context, name string, state v1alpha1.DevboxState) {
	box := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	patch := fmt.Appendf(nil, `{"spec":{"state":%q}}`, state)
	check(d.platform.client.Patch(ctx, box, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("person")))
}
