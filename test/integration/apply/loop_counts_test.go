package apply

import (
	"fmt"
	"testing"
	"time"

	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	schedulingv1ac "k8s.io/client-go/applyconfigurations/scheduling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// loopClock is a clock that the test moves, and the loops that were reported by it.
type loopClock struct {
	client    client.Client
	namespace string
	now       time.Time
	loops     *apply.Loops
	reports   []string
}

func (*loopClock) ObserveUpdate(apply.UpdateObservation) {}

func newLoopClock(t *testing.T) *loopClock {
	t.Helper()
	l := &loopClock{client: kit.NewClient(t, kit.Server(t)), now: time.Unix(1_000_000, 0)}
	l.namespace = kit.NewNamespace(t, l.client)
	l.loops = apply.NewLoops(func() time.Time { return l.now })
	return l
}

func (l *loopClock) ObserveApply(o apply.ApplyObservation) {
	if o.Loop != "" {
		l.reports = append(l.reports, o.Loop)
	}
}

func (l *loopClock) applier(t *testing.T, manager string) *apply.Applier {
	t.Helper()
	applier, err := apply.New(l.client, apply.Config{FieldManager: manager, LiveReader: l.client, Loops: l.loops, Metrics: l})
	if err != nil {
		t.Fatal(err)
	}
	return applier
}

func (l *loopClock) apply(t *testing.T, applier *apply.Applier, config runtime.ApplyConfiguration) {
	t.Helper()
	if _, err := applier.Apply(t.Context(), apply.Intent{Config: config}); err != nil {
		t.Fatal(err)
	}
}

func (l *loopClock) want(t *testing.T, reports int, after string) {
	t.Helper()
	if len(l.reports) != reports {
		t.Errorf("%d reports after %s; want %d: %v", len(l.reports), after, reports, l.reports)
	}
}

// TestLoopBesideAWriter: an intent that changes nothing is no loop, however often another manager
// writes. Without a steady-state check, such an apply has the action Configured.
func TestLoopBesideAWriter(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	for i := range 3 * loopLimit {
		l.now = l.now.Add(1500 * time.Millisecond) // 40 applies within a minute
		edit := corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"footer": fmt.Sprint(i)})
		if err := l.client.Apply(t.Context(), edit, client.FieldOwner("example-footer")); err != nil {
			t.Fatal(err)
		}
		l.apply(t, applier, corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"title": "same"}))
	}
	l.want(t, 0, "90 applies that change nothing")
	for i := range loopLimit + 1 {
		l.apply(t, applier, corev1ac.ConfigMap("another-page", l.namespace).WithData(map[string]string{"title": fmt.Sprint(i)}))
	}
	l.want(t, 1, "31 applies that change the title")
}

// TestLoopOfDeletions: somebody deletes a cluster-scoped object after each apply.
func TestLoopOfDeletions(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "loop-" + l.namespace}}
	for range loopLimit + 1 {
		l.apply(t, applier, schedulingv1ac.PriorityClass(class.Name).WithValue(1))
		if err := l.client.Delete(t.Context(), class); err != nil {
			t.Fatal(err)
		}
	}
	l.want(t, 1, "31 creations")
}
