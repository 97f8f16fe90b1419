package apply

import (
	"fmt"
	"strings"
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
	apply.NoMetrics

	client    client.Client
	namespace string
	now       time.Time
	loops     *apply.Loops
	reports   []*apply.Loop
	requests  int // of the last apply
}

func newLoopClock(t *testing.T) *loopClock {
	t.Helper()
	l := &loopClock{client: kit.NewClient(t, kit.Server(t)), now: time.Unix(1_000_000, 0)}
	l.namespace = kit.NewNamespace(t, l.client)
	l.loops = apply.NewLoops(func() time.Time { return l.now })
	return l
}

func (l *loopClock) ObserveApply(o apply.ApplyObservation) {
	l.requests = o.Requests
	if o.Loop != nil {
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

// change applies a value that differs each time.
func (l *loopClock) change(t *testing.T, applier *apply.Applier, times int, between time.Duration) {
	t.Helper()
	for range times {
		l.now = l.now.Add(between)
		title := map[string]string{"title": l.now.Format(time.StampNano)}
		l.apply(t, applier, corev1ac.ConfigMap("page", l.namespace).WithData(title))
	}
}

func (l *loopClock) want(t *testing.T, reports int, after string) {
	t.Helper()
	if len(l.reports) != reports {
		t.Errorf("%d reports after %s; want %d: %v", len(l.reports), after, reports, l.reports)
	}
}

// TestLoopCounts: 30 changes within a minute are no loop, and cost one request each. The 31st
// change is reported, and costs one more request. After that, no loop is reported for an hour.
func TestLoopCounts(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	l.change(t, applier, loopLimit, time.Second)
	l.want(t, 0, "30 changes")
	if l.requests != 1 {
		t.Errorf("%d requests of the 30th change; want 1", l.requests)
	}
	l.change(t, applier, 1, time.Second)
	l.want(t, 1, "31 changes")
	if l.requests != 2 {
		t.Errorf("%d requests of the 31st change; want 2, with the read of the object", l.requests)
	}
	l.change(t, applier, 2*loopLimit, time.Second)
	l.want(t, 1, "91 changes")
	if l.requests != 1 {
		t.Errorf("%d requests of the 91st change; want 1", l.requests)
	}
	l.now = l.now.Add(time.Hour)
	l.change(t, applier, loopLimit, time.Second)
	l.want(t, 1, "an hour")
	l.change(t, applier, 1, time.Second)
	l.want(t, 2, "an hour and 31 changes")
}

// TestLoopIsNone: a change every two seconds, applies that change nothing, and 30 changes by
// each of two field managers are no loops.
func TestLoopIsNone(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	l.change(t, applier, 2*loopLimit, 2*time.Second)
	l.want(t, 0, "60 changes in two minutes")
	l.now = l.now.Add(time.Minute)
	for range 100 {
		l.apply(t, applier, corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"title": "same"}))
	}
	l.want(t, 0, "100 applies of one intent")
	l.now = l.now.Add(time.Minute)
	other := l.applier(t, "example-footer")
	for i := range loopLimit {
		l.apply(t, applier, corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"title": fmt.Sprint(i)}))
		l.apply(t, other, corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"footer": fmt.Sprint(i)}))
	}
	l.want(t, 0, "30 changes by each of two field managers")
}

// TestLoopBesideAWriter: an intent that changes nothing is no loop, however often another manager
// writes. Without a steady-state check, such an apply has the action Configured.
func TestLoopBesideAWriter(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	most := 0
	for i := range 3 * loopLimit {
		edit := corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"footer": fmt.Sprint(i)})
		if err := l.client.Apply(t.Context(), edit, client.FieldOwner("example-footer")); err != nil {
			t.Fatal(err)
		}
		l.apply(t, applier, corev1ac.ConfigMap("page", l.namespace).WithData(map[string]string{"title": "same"}))
		if l.requests > 1 {
			most++
		}
	}
	l.want(t, 0, "90 applies that change nothing")
	if most != 2 { // of the 31st and the 61st or 62nd apply
		t.Errorf("%d applies read the object; want 2", most)
	}
}

// TestLoopHides: no report contains the values of a Secret.
func TestLoopHides(t *testing.T) {
	t.Parallel()
	l := newLoopClock(t)
	applier := l.applier(t, "example-shop")
	for i := range loopLimit + 1 {
		data := map[string][]byte{"password": fmt.Append(nil, "password-", i%2)}
		l.apply(t, applier, corev1ac.Secret("login", l.namespace).WithData(data))
	}
	l.want(t, 1, "31 changes of a Secret")
	text := fmt.Sprintf("%v %+v", l.reports[0], l.reports[0].Fields)
	if !strings.Contains(text, ".data.password from (hidden) ") || strings.Contains(text, "cGFzc3dvcmQt") {
		t.Errorf("%s", text)
	}
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
	if text := l.reports[0].String(); !l.reports[0].Recreated || !strings.Contains(text, "Somebody deletes the object") {
		t.Error(text)
	}
}
