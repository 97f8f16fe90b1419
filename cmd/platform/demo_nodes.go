package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// busy is the name of the node that the demo cordons while other clients write to the node.
const busy = "node-000002"

func (d *demonstration) maintenance(ctx context.Context) {
	d.show.step("A node is cordoned while other clients write to it without pause",
		"Four writers change annotations of the node as fast as the API server accepts",
		"it. Get-modify-update (strategy Update) fails: all its four writes are stale.",
		"Writes of other clients do not make Server-Side Apply (strategy Apply) fail.")
	writers := &writers{client: d.platform.client}
	defer writers.stop()
	byUpdate := d.lose(ctx, writers)
	byApply := d.work(ctx, "apply", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: v1alpha1.StrategyApply})
	written := writers.stop()
	check(writers.failed)
	d.kubectl(ctx, "get", "nodemaintenances")
	d.show.wrap("by Update: " + byUpdate.Error)
	d.kubectl(ctx, "fieldowners", "node/"+busy, "--manager", fieldmanagers.NodeMaintenance)
	if byApply.Result != v1alpha1.NodeSucceeded {
		fail("the result of the cordon with strategy Apply is %+v, want Succeeded", byApply)
	}
	d.show.ok("Update failed after %d attempts, Apply needed %d, during %d writes of other clients",
		byUpdate.Attempts, byApply.Attempts, written)
}

// lose demonstrates a cordon that fails. It cordons a node with strategy Update (get-modify-update) while the given
// writers write to the node. Nearly always, all four attempts fail as stale writes. Then lose returns the status of the
// cordon, and the writers continue to run. If an attempt succeeds, lose stops the writers (otherwise the undo could fail
// as a stale write, too), undoes the cordon and starts again.
func (d *demonstration) lose(ctx context.Context, writers *writers) (status v1alpha1.NodeStatus) {
	for range 10 {
		writers.start(ctx, busy)
		status = d.work(ctx, "update", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: v1alpha1.StrategyUpdate})
		if status.Result == v1alpha1.NodeFailed && status.Attempts == 4 {
			return status
		}
		writers.stop()
		check(writers.failed)
		d.work(ctx, "undo", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon})
		for _, name := range []string{"update", "undo"} {
			check(d.platform.client.Delete(ctx, &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		}
	}
	fail("the result of the cordon with strategy Update is %+v, want Failed after four attempts", status)
	return status
}

func (d *demonstration) uncordon(ctx context.Context) {
	d.show.step("The node is uncordoned",
		"Our field manager is released: only fields without other owners are removed.")
	status := d.work(ctx, "back", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon})
	d.kubectl(ctx, "get", "nodes")
	var node corev1.Node
	check(d.platform.client.Get(ctx, client.ObjectKey{Name: busy}, &node))
	for annotation := range node.Annotations {
		if strings.HasPrefix(annotation, "platform.coapply.dev/") {
			fail("node "+busy+" still has the annotation %s after the Uncordon", annotation)
		}
	}
	if node.Spec.Unschedulable || status.Result != v1alpha1.NodeSucceeded {
		fail("the result of the Uncordon is %+v, and spec.unschedulable of the node is %v; want Succeeded and false", status, node.Spec.Unschedulable)
	}
	d.show.ok("the node is schedulable, and has no annotation of the platform")
}

// work creates a NodeMaintenance for the node named by busy, waits until it is complete, and returns the result
// for the node.
func (d *demonstration) work(ctx context.Context, name string, spec v1alpha1.NodeMaintenanceSpec) v1alpha1.NodeStatus {
	spec.Nodes = []string{busy}
	work := &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	d.create(ctx, work)
	work = await(ctx, d, client.ObjectKey{Name: name}, "the NodeMaintenance is complete", func(work *v1alpha1.NodeMaintenance) string {
		return unlessCondition(work.Status.Conditions, v1alpha1.ConditionComplete, "True", "")
	})
	if len(work.Status.Nodes) != 1 {
		fail("NodeMaintenance %s has the node results %+v, want one result", name, work.Status.Nodes)
	}
	return work.Status.Nodes[0]
}

// writers are goroutines that write to a node from a call of start to the next call of stop. start may be called again.
type writers struct {
	client   client.Client
	stopping atomic.Bool
	written  atomic.Int64
	all      sync.WaitGroup
	once     sync.Once
	failed   error // the first error of a writer
}

// start starts four writers that change a node without pause. One writer is not enough: a cordon with strategy Update
// would sometimes succeed.
func (w *writers) start(ctx context.Context, name string) {
	w.stopping.Store(false)
	for i := range 4 {
		w.all.Go(func() {
			for n := 0; !w.stopping.Load(); n++ {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/writer-%d":"%d"}}}`, i, n)
				err := w.client.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("others"))
				if err != nil {
					w.once.Do(func() { w.failed = err })
					return
				}
				w.written.Add(1)
			}
		})
	}
}

// stop stops the writers, waits until they have ended, and returns the number of their writes. It
// may be called more than once.
func (w *writers) stop() (written int64) {
	w.stopping.Store(true)
	w.all.Wait()
	return w.written.Load()
}
