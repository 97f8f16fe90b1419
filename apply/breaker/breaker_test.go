package breaker_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/breaker"
	"coapply.dev/fieldowners"
)

// world is a Breaker with a clock that the test sets.
type world struct {
	*testing.T
	*breaker.Breaker

	now    time.Time
	opened []*breaker.OpenError
	sent   apply.Metrics
}

var replicas = apply.Conflict{
	Object:     apply.ObjectRef{UID: "1"},
	Manager:    fieldowners.Manager{Name: "hpa", Operation: metav1.ManagedFieldsOperationUpdate},
	ServerPath: ".spec.replicas", Decision: apply.Force,
}

func newWorld(t *testing.T, config breaker.Config) *world {
	t.Helper()
	w := &world{T: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	config.Now = func() time.Time { return w.now }
	var err error
	if w.Breaker, err = breaker.New(config); err != nil {
		t.Fatal(err)
	}
	w.OnOpen(func(e *breaker.OpenError) { w.opened = append(w.opened, e) })
	w.sent = w.Metrics(nil)
	return w
}

// contest asks for a force, three times as an apply may, and reports whether it was allowed. If so,
// the force lands.
func (w *world) contest(conflict apply.Conflict) bool {
	w.Helper()
	var refused error
	for range 3 {
		refused = breaker.Refuses(w.Breaker, "shop-web", conflict)
	}
	if refused == nil {
		w.sent.ObserveApply(apply.ApplyObservation{FieldManager: "shop-web", Forced: []apply.Conflict{conflict}})
	} else if open := (*breaker.OpenError)(nil); !errors.As(refused, &open) {
		w.Errorf("%v is no OpenError", refused)
	}
	return refused == nil
}

// after contests the replicas after a time.
func (w *world) after(pause time.Duration, want bool, reason string) {
	w.Helper()
	w.now = w.now.Add(pause)
	if got := w.contest(replicas); got != want {
		w.Errorf("%s: forced is %t, want %t", reason, got, want)
	}
}

func TestBreaker(t *testing.T) {
	w := newWorld(t, breaker.Config{})
	stops := breaker.Stops.WithLabelValues("shop-web", replicas.Object.GroupKind().String())
	before := testutil.ToFloat64(stops)
	for range 3 {
		w.after(10*time.Second, true, "the first three within a minute")
	}
	w.after(time.Second, false, "the fourth")
	w.after(59*time.Second, false, "within the cool-down")
	w.after(13*time.Second, true, "after the cool-down and its random part")
	w.after(time.Second, false, "taken back after the cool-down")
	w.after(119*time.Second, false, "within the doubled cool-down")
	w.after(26*time.Second, true, "after the doubled cool-down")
	w.after(61*time.Second, true, "the field stayed for a minute: the count starts at zero")
	w.after(time.Second, true, "the second since then")
	if counted := testutil.ToFloat64(stops) - before; len(w.opened) != 2 || counted != 2 {
		t.Errorf("opened %d times, counted %v, want 2", len(w.opened), counted)
	}
}

func TestBreakerForgets(t *testing.T) {
	w := newWorld(t, breaker.Config{PerMinute: 1, MaxCoolDown: 3 * time.Minute})
	w.after(0, true, "the first")
	w.after(time.Second, false, "the second")
	w.after(10*time.Minute, true, "nobody contested the field for long")
	w.after(time.Minute, true, "a minute later")
	for range 3 {
		w.after(time.Second, false, "taken back")
		w.after(4*time.Minute, true, "the cool-down is 3 minutes at most, and a fifth")
	}
}

// TestBreakerIsOfOneField: other fields, objects and managers are forced.
func TestBreakerIsOfOneField(t *testing.T) {
	w := newWorld(t, breaker.Config{PerMinute: 1})
	w.after(0, true, "the first")
	w.after(0, false, "the second")
	image, another := replicas, replicas
	image.ServerPath = ".spec.template"
	another.Object.UID = "2"
	if !w.contest(image) || !w.contest(another) || breaker.Refuses(w.Breaker, "shop-api", replicas) != nil {
		t.Error("another field, object or manager is not forced")
	}
}

func TestNewRefuses(t *testing.T) {
	for _, config := range []breaker.Config{{PerMinute: -1}, {CoolDown: -1}, {MaxCoolDown: -1}} {
		if _, err := breaker.New(config); err == nil {
			t.Errorf("%+v: no error", config)
		}
	}
}

func TestCondition(t *testing.T) {
	w := newWorld(t, breaker.Config{PerMinute: 1})
	w.after(0, true, "the first")
	conflict := replicas
	conflict.Refused = breaker.Refuses(w.Breaker, "shop-web", replicas)
	errs := []error{errors.New("another"), &apply.ConflictError{Conflicts: []apply.Conflict{conflict}}}
	if c := breaker.Condition(7, errs); c.Status != metav1.ConditionTrue || c.Reason != breaker.ReasonFight || c.ObservedGeneration != 7 ||
		!strings.Contains(c.Message, "shop-web and hpa/Update set .spec.replicas") || !strings.Contains(c.Message, "force the field before 00:01:") {
		t.Errorf("%+v", c)
	}
	if c := breaker.Condition(7, errs[:1]); c.Status != metav1.ConditionFalse {
		t.Errorf("%+v", c)
	}
}
