package peers

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/workloads/deployment"
)

// disturb makes the other field managers write to a Deployment, every 5 ms, until end is called. end returns the number of their writes.
func (w *world) disturb(ctx context.Context, name string) (end func() int) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	writes := 0
	all.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			if w.writeAsOther(ctx, name, n) == nil {
				writes++
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() int {
		cancel()
		all.Wait()
		return writes
	}
}

// writeAsOther makes the n-th write of the other field managers. They take turns: m1, m2, m3, and then a controller that
// patches the status.
func (w *world) writeAsOther(ctx context.Context, name string, n int) error {
	j := 1 + n%deployment.Managers
	if j < deployment.Managers {
		config := deployment.Intent(w.Namespace(), name, j, fmt.Sprintf("v%d", n))
		return w.admin.Apply(ctx, config, client.FieldOwner(deployment.Manager(j)), client.ForceOwnership)
	}
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace(), Name: name}}
	status := fmt.Appendf(nil, `{"status":{"replicas":3,"readyReplicas":%d}}`, n%3)
	return w.admin.Status().Patch(ctx, object, client.RawPatch(types.MergePatchType, status), client.FieldOwner("status-controller"))
}

// changed waits until the cache has another resourceVersion of the Deployment, and returns this resourceVersion.
func (w *world) changed(t testing.TB, name, from string) string {
	t.Helper()
	for start := time.Now(); time.Since(start) < time.Minute; time.Sleep(time.Millisecond) {
		live := &appsv1.Deployment{}
		err := w.cache.Get(t.Context(), types.NamespacedName{Namespace: w.Namespace(), Name: name}, live)
		fatal(t, client.IgnoreNotFound(err))
		if err == nil && live.ResourceVersion != from {
			return live.ResourceVersion
		}
	}
	t.Fatal("for a minute, the cache has had no other version of Deployment", name)
	return ""
}
