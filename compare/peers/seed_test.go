package peers

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/compare/target"
	"coapply.dev/compare/workloads/deployment"
)

// seed has the objects of the manager process.
type seed struct {
	client    client.Client
	namespace string
	objects   int
}

func nameOf(i int) string { return fmt.Sprintf("d%05d", i) }

// newSeed creates Deployments, to which each field manager applies its intent, 16 at a time. It returns when the Deployment
// controller has seen all of them, because the writes of this controller would be measured, too.
func newSeed(t testing.TB, on *target.Target, objects int) *seed {
	t.Helper()
	c, err := client.New(on.Admin(), client.Options{})
	fatal(t, err)
	s := &seed{client: c, namespace: on.Namespace(), objects: objects}
	var made atomic.Int64
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(16)
	for i := range objects {
		group.Go(func() error {
			if n := made.Add(1); n%1000 == 0 {
				t.Logf("creating Deployment %d of %d", n, objects)
			}
			return deployment.Prepare(ctx, c, s.namespace, nameOf(i))
		})
	}
	fatal(t, group.Wait())
	fatal(t, wait.PollUntilContextTimeout(t.Context(), time.Second, 15*time.Minute, true, s.observed))
	return s
}

// observed reports whether the Deployment controller has seen the last version of each Deployment.
func (s *seed) observed(ctx context.Context) (bool, error) {
	page := &appsv1.DeploymentList{}
	for more := true; more; more = page.Continue != "" {
		if err := s.client.List(ctx, page, client.InNamespace(s.namespace), client.Limit(500), client.Continue(page.Continue)); err != nil {
			return false, err
		}
		for i := range page.Items {
			if page.Items[i].Status.ObservedGeneration < page.Items[i].Generation {
				return false, nil
			}
		}
	}
	return true, nil
}

// writeStatuses writes a condition to the status of one object after the other, like another controller, 20 times per
// second. It returns the number of writes when the window has ended.
func (s *seed) writeStatuses(t testing.TB, window time.Duration) (written int) {
	t.Helper()
	end := time.After(window)
	for tick := time.Tick(time.Second / 20); ; written++ {
		select {
		case <-end:
			return written
		case <-tick:
		}
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: nameOf(written % s.objects)}}
		// The Deployment controller keeps conditions of a type that it does not know.
		patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Seen","status":"True","message":"%d"}]}}`, time.Now().UnixNano())
		fatal(t, s.client.Status().Patch(t.Context(), object, client.RawPatch(types.StrategicMergePatchType, patch), client.FieldOwner("others")))
	}
}
