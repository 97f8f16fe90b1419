package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/fieldmanagers"
)

// busy is the node that is rewritten all the time.
const busy = "node-000002"

func (d *demonstration) maintenance(ctx context.Context, _ io.Writer) error {
	d.show.step("A node is cordoned while others rewrite it without pause",
		"Somebody changes annotations of the node as fast as the API server takes it.",
		"Get-modify-update (strategy Update) reads, and is late with its write, four",
		"times over. Server-Side Apply (strategy Apply) needs no look at the rest.")
	writers := d.rewrite(ctx, busy)
	byUpdate, err := d.lose(ctx)
	byApply := v1alpha1.NodeStatus{}
	if err == nil {
		byApply, err = d.work(ctx, "apply", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: v1alpha1.StrategyApply})
	}
	written, failed := writers.stop()
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get", "nodemaintenances"); err != nil {
		return err
	}
	d.show.print(wrapped("by Update: "+byUpdate.Error, 72))
	if err := d.kubectl(ctx, "fieldowners", "node/"+busy, "--manager", fieldmanagers.NodeMaintenance); err != nil {
		return err
	}
	if byApply.Result != v1alpha1.NodeSucceeded {
		return fmt.Errorf("by Apply: %+v; want success", byApply)
	}
	d.show.ok("Update gave up after %d attempts, Apply needed %d, beside %d foreign writes",
		byUpdate.Attempts, byApply.Attempts, written)
	return nil
}

// lose has the Update strategy try until it lost four races in a row, which it nearly
// always does at once.
func (d *demonstration) lose(ctx context.Context) (v1alpha1.NodeStatus, error) {
	var status v1alpha1.NodeStatus
	for i := range 5 {
		name := "update"
		if i > 0 {
			name = fmt.Sprintf("update-%d", i+1)
		}
		var err error
		status, err = d.work(ctx, name, v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: v1alpha1.StrategyUpdate})
		if err != nil || status.Result == v1alpha1.NodeFailed && status.Attempts == 4 {
			return status, err
		}
	}
	return status, fmt.Errorf("by Update: %+v; want four attempts in vain", status)
}

func (d *demonstration) uncordon(ctx context.Context, _ io.Writer) error {
	d.show.step("The node is uncordoned",
		"What was applied is released: the fields that only we own go, nothing else.")
	status, err := d.work(ctx, "back", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon})
	if err != nil {
		return err
	}
	if err := d.kubectl(ctx, "get", "nodes"); err != nil {
		return err
	}
	var node corev1.Node
	if err := d.platform.client.Get(ctx, client.ObjectKey{Name: busy}, &node); err != nil {
		return err
	}
	for annotation := range node.Annotations {
		if strings.HasPrefix(annotation, "platform.coapply.dev/") {
			return fmt.Errorf("annotation %s is still there", annotation)
		}
	}
	if node.Spec.Unschedulable || status.Result != v1alpha1.NodeSucceeded {
		return fmt.Errorf("%+v, unschedulable: %v", status, node.Spec.Unschedulable)
	}
	d.show.ok("it is schedulable, and carries no annotation of ours")
	return nil
}

// work does one NodeMaintenance of the busy node, and returns what became of it.
func (d *demonstration) work(ctx context.Context, name string, spec v1alpha1.NodeMaintenanceSpec) (v1alpha1.NodeStatus, error) {
	spec.Nodes = []string{busy}
	work := &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
	if err := d.platform.client.Create(ctx, work, client.FieldOwner("person")); err != nil {
		return v1alpha1.NodeStatus{}, err
	}
	work, err := await(ctx, d, client.ObjectKey{Name: name}, "it is complete", func(work *v1alpha1.NodeMaintenance) string {
		return unlessCondition(work.Status.Conditions, v1alpha1.ConditionComplete, "True", "")
	})
	if err != nil {
		return v1alpha1.NodeStatus{}, err
	}
	if len(work.Status.Nodes) != 1 {
		return v1alpha1.NodeStatus{}, fmt.Errorf("%s has the results %+v; want one", name, work.Status.Nodes)
	}
	return work.Status.Nodes[0], nil
}

// writers write to a node until they are stopped.
type writers struct {
	stopping atomic.Bool
	written  atomic.Int64
	all      sync.WaitGroup
	once     sync.Once
	failed   error
}

// rewrite has four writers change a node without pause: one alone is sometimes too
// slow.
func (d *demonstration) rewrite(ctx context.Context, name string) *writers {
	w := &writers{}
	for i := range 4 {
		w.all.Go(func() {
			for n := 0; !w.stopping.Load(); n++ {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
				patch := fmt.Sprintf(`{"metadata":{"annotations":{"example.com/writer-%d":"%d"}}}`, i, n)
				err := d.platform.client.Patch(ctx, node, client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("others"))
				if err != nil {
					w.once.Do(func() { w.failed = err })
					return
				}
				w.written.Add(1)
			}
		})
	}
	return w
}

// stop waits until the last write is answered, and returns how many there were.
func (w *writers) stop() (written int64, err error) {
	w.stopping.Store(true)
	w.all.Wait()
	return w.written.Load(), w.failed
}
