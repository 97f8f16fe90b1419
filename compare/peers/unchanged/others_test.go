package unchanged

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/workloads/deployment"
)

// Others are the other field managers of a Deployment: they write all the time, each its own fields, and the status is
// patched as a controller does.
type Others struct {
	cancel context.CancelFunc
	all    sync.WaitGroup
	// Writes is how many of theirs landed.
	Writes atomic.Int64
}

// pace is how long they rest between two writes.
const pace = 5 * time.Millisecond

// Disturb starts them. End them with Stop.
func (w *World) Disturb(ctx context.Context, name string) *Others {
	ctx, cancel := context.WithCancel(ctx)
	o := &Others{cancel: cancel}
	o.all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if w.Disturbed(ctx, name, n) == nil {
				o.Writes.Add(1)
			}
			select {
			case <-time.After(pace):
			case <-ctx.Done():
			}
		}
	})
	return o
}

// Stop returns when they have ended.
func (o *Others) Stop() {
	o.cancel()
	o.all.Wait()
}

// Disturbed makes the n-th write of the others: each of them in turn, the status last.
func (w *World) Disturbed(ctx context.Context, name string, n int) error {
	j := 1 + n%deployment.Managers
	if j < deployment.Managers {
		config := deployment.Intent(w.Namespace, name, j, fmt.Sprintf("v%d", n))
		return w.Admin.Apply(ctx, config, client.FieldOwner(deployment.Manager(j)), client.ForceOwnership)
	}
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	status := fmt.Appendf(nil, `{"status":{"replicas":3,"readyReplicas":%d}}`, n%3)
	return w.Admin.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, status), client.FieldOwner("status-controller"))
}

// Changed waits until the cache has another resourceVersion of the Deployment, and returns it.
func (w *World) Changed(ctx context.Context, name, from string) (string, error) {
	for live := (&appsv1.Deployment{}); ; {
		err := w.Cache.Get(ctx, types.NamespacedName{Namespace: w.Namespace, Name: name}, live)
		if client.IgnoreNotFound(err) != nil {
			return "", err
		}
		if err == nil && live.ResourceVersion != from {
			return live.ResourceVersion, nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return "", fmt.Errorf("waiting for another version of Deployment %s in the cache: %w", name, ctx.Err())
		}
	}
}
