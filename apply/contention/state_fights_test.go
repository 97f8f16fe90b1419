package contention

import (
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

func TestWhoseFightsAreTold(t *testing.T) {
	for _, test := range []struct {
		reason string
		parent apply.ObjectRef
		a, b   string
		told   bool
		yields []string
		series [2]string // manager and other
	}{
		{"ours on a foreign object", apply.ObjectRef{}, power, bot, true, []string{"coapply-power"}, [2]string{"coapply-power", "bot"}},
		{"that, by another name", apply.ObjectRef{}, power, "hpa/Update", true, []string{"coapply-power"}, [2]string{"coapply-power", "hpa"}},
		{"others on an object of ours", box, "hpa/Update", bot, true, nil, [2]string{"bot", "hpa"}},
		{"others on a foreign object", apply.ObjectRef{}, "hpa/Update", bot, false, nil, [2]string{}},
		{"ours by update: nobody can stop it", box, "coapply-power/Update", bot, true, nil, [2]string{"coapply-power", "bot"}},
		{"ours of another process", apply.ObjectRef{}, "coapply-elsewhere/Apply", bot, true, nil, [2]string{"coapply-elsewhere", "bot"}},
		{"two of ours", box, power, "coapply-other/Apply", true, []string{"coapply-other", "coapply-power"}, [2]string{"coapply-other", "coapply-power"}},
	} {
		w := newWorld(t, test.parent)
		looked := 0
		for range 5 {
			looked += len(w.take(2, test.a, "replicas"))
			looked += len(w.take(2, test.b, "replicas"))
		}
		troubles, _, _ := w.Take(w.object.subject())
		if (looked > 0) != test.told {
			t.Errorf("%s: to be looked at %d times", test.reason, looked)
		}
		if n := testutil.CollectAndCount(w.metrics.found); (n == 1) != test.told {
			t.Errorf("%s: %d series", test.reason, n)
		}
		if test.told && testutil.ToFloat64(w.metrics.found.WithLabelValues(ReasonFight, "Deployment.apps", test.series[0], test.series[1])) != 1 {
			t.Errorf("%s: not counted for %v", test.reason, test.series)
		}
		if len(troubles) == 1 != test.told || test.told && !slices.Equal(troubles[0].Yields, test.yields) {
			t.Errorf("%s: %+v", test.reason, troubles)
		}
		w.clock = w.clock.Add(10 * time.Minute)
		if troubles, _, _ := w.Take(w.object.subject()); len(troubles) != 0 || len(w.rows) != 0 {
			t.Errorf("%s: not over after ten minutes: %v", test.reason, troubles)
		}
	}
}

// TestOtherFields has another field of the contested object move, and two fights about
// one field.
func TestOtherFields(t *testing.T) {
	w := newWorld(t, box)
	w.fights(power, bot)
	w.take(0, bot, "replicas")
	w.take(0, bot, "paused")
	w.clock = w.clock.Add(time.Minute)
	w.take(0, power, "paused")
	object := w.object
	w.object.UID = "another"
	w.take(0, power, "replicas")
	w.take(0, bot, "replicas")
	w.object = object
	if !w.forces("coapply-power", ".spec.replicas") {
		t.Error("the one try was taken by another field, or by the field of another object")
	}
	w.take(1, power, "replicas")
	for range 4 {
		w.take(2, "other/Update", "replicas")
		w.take(2, power, "replicas")
	}
	if len(w.rows) != 2 {
		t.Fatalf("%d fights, want those with both", len(w.rows))
	}
	for i := range w.rows {
		w.rows[i].breaker, w.rows[1-i].breaker = newBreaker(&w.Config, w.clock), newBreaker(&w.Config, w.clock.Add(-time.Minute))
		if w.forces("coapply-power", ".spec.replicas") {
			t.Errorf("breaker %d is open, and ours forces", i)
		}
	}
}

// TestOneOfTwoFightsEnds has two fights of others, which no breaker times, and which differ in one thing.
func TestOneOfTwoFightsEnds(t *testing.T) {
	for _, test := range []struct{ differs, object, field, a, b string }{
		{"the object", "db", "replicas", bot, "hpa/Update"},
		{"the field", "web", "paused", bot, "hpa/Update"},
		{"the first manager", "web", "replicas", "ant/Update", "hpa/Update"},
		{"the second manager", "web", "replicas", bot, "kubectl/Update"},
	} {
		w := newWorld(t, box)
		w.fights(bot, "hpa/Update")
		ends := w.clock.Add(window)
		for w.object.UID = types.UID(test.object); w.clock.Before(ends); {
			w.take(2, test.a, test.field)
			w.take(2, test.b, test.field)
			if troubles, _, _ := w.Take(box); len(troubles) > 2 || len(troubles) == 2 && !w.clock.Before(ends) {
				t.Errorf("%s: %v", test.differs, troubles)
			}
		}
		troubles, _, _ := w.Take(box)
		if len(troubles) != 1 || string(troubles[0].Object.UID) != test.object || troubles[0].Path.String() != ".spec."+test.field {
			t.Errorf("%s: %v", test.differs, troubles)
		}
	}
}

// TestFightIsOne: it is told once, however long it goes on.
func TestFightIsOne(t *testing.T) {
	w, looked := newWorld(t, box), 0
	for range 60 {
		looked += len(w.take(2, bot, "replicas"))
		looked += len(w.take(2, "hpa/Update", "replicas"))
	}
	if looked != 1 || len(w.rows) != 1 {
		t.Errorf("%d troubles, to be looked at %d times, want one", len(w.rows), looked)
	}
}

// TestConcerns: ours are those whose policies are guarded, where nobody says otherwise.
func TestConcerns(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	guarded := s.Guard("shop", apply.OnConflict(apply.Force))
	if !guarded.Forces(apply.Conflict{Path: fieldowners.MustParsePath(".spec.replicas")}) {
		t.Error("a policy that is guarded forces nothing any more")
	}
	for _, test := range []struct {
		reason  string
		object  Object
		manager string
		want    bool
	}{
		{"it belongs to one of ours", Object{Parent: box}, "hpa", true},
		{"ours owns of it", Object{}, "shop", true},
		{"nobody of ours", Object{}, "hpa", false},
	} {
		if got := s.Concerns(test.object, &metav1.ObjectMeta{ManagedFields: entries{entry(test.manager, byApply, "", 1, replicas)}}); got != test.want {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}
