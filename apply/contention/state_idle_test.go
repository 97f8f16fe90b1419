package contention

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"coapply.dev/apply"
)

func TestNobodyLooks(t *testing.T) {
	var s *State
	if policy := s.Guard("m", apply.OnConflict(apply.Force)); fmt.Sprint(policy) != fmt.Sprint(apply.OnConflict(apply.Force)) {
		t.Error("the policy has changed")
	}
	if metrics := (apply.NoMetrics{}); s.Sent("m", metrics) != apply.Metrics(metrics) {
		t.Error("the metrics have changed")
	}
}

// counting counts what it is shown.
type counting struct {
	apply.NoMetrics

	applies *int
}

func (c counting) ObserveApply(apply.ApplyObservation) { *c.applies++ }

// TestSentPassesOn: whoever counts applies is shown each of them.
func TestSentPassesOn(t *testing.T) {
	w, n := newWorld(t, box), 0
	counted := w.Sent("coapply-power", counting{applies: &n})
	for _, result := range []string{"Created", "Unchanged", "Refused"} {
		counted.ObserveApply(apply.ApplyObservation{Result: result})
	}
	if n != 3 {
		t.Errorf("%d of 3 are counted", n)
	}
}

// TestNobodyTakes is a replica that waits for the lead: it knows what goes on, and no
// more.
func TestNobodyTakes(t *testing.T) {
	w := newWorld(t, box)
	active := func(fights, loops int) {
		t.Helper()
		want := fmt.Sprintf("# HELP coapply_fights_active Fights and loops that go on, or whose field ours has not dared to force again.\n"+
			"# TYPE coapply_fights_active gauge\ncoapply_fights_active{reason=\"OwnershipFight\"} %d\ncoapply_fights_active{reason=\"ReconcileLoop\"} %d\n"+
			"coapply_fights_active{reason=\"UnknownWriter\"} 0\n", fights, loops)
		if err := testutil.CollectAndCompare(w.State, strings.NewReader(want), "coapply_fights_active"); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if w.fights(power, "bot/Update") == nil {
			t.Fatal("the fight is not seen, or not for the second time")
		}
		active(1, 0)
		if w.forces("coapply-power", ".spec.replicas") {
			t.Error("ours forces in a fight")
		}
		w.clock = w.clock.Add(w.CoolDown + w.Trial)
		active(0, 0)
	}
	if len(w.rows) != 1 {
		t.Errorf("%d rows", len(w.rows))
	}
}
