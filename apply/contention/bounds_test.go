package contention

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// manyFights has more go on at a time than are remembered.
func manyFights(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, apply.ObjectRef{})
	for i := range maxTroubles + 10 {
		w.object.UID = types.UID(fmt.Sprint("web-", i))
		for range 4 {
			w.take(0, power, "replicas")
			w.take(0, fmt.Sprintf("bot-%d/Update", i), "replicas")
		}
	}
	return w
}

// TestOverIsNotCounted: where nobody calls Take, what is over leaves room for what begins.
func TestOverIsNotCounted(t *testing.T) {
	w := manyFights(t)
	w.clock = w.clock.Add(w.CoolDown + w.Trial)
	if w.fights(power, bot); len(w.rows) != 1 || w.forces("coapply-power", ".spec.replicas") {
		t.Errorf("%d troubles, want the one that goes on", len(w.rows))
	}
}

func TestBounds(t *testing.T) {
	w := manyFights(t)
	if len(w.rows) != maxTroubles {
		t.Errorf("%d troubles", len(w.rows))
	}
	for _, r := range slices.Clone(w.rows) {
		w.Take(r.subject)
	}
	const named = maxOthers - 2 // one name is ours, and one is that of nobody
	if n := testutil.CollectAndCount(w.State, "coapply_fights_total"); n != named+1 {
		t.Errorf("%d series of names that others chose, want %d", n, named+1)
	}
	rest := w.metrics.found.WithLabelValues(ReasonFight, "Deployment.apps", "coapply-power", manyOthers)
	if n := testutil.ToFloat64(rest); n != maxTroubles-named {
		t.Errorf("%v fights with others than those, want %d", n, maxTroubles-named)
	}
}

// TestUnsentBounds: writes that nobody sent are remembered for a minute, and so many of them.
func TestUnsentBounds(t *testing.T) {
	w := newWorld(t, box)
	looked := 0
	unsent := func() int {
		change := Change{Version: "1", Stamped: true, Writers: []fieldowners.Manager{{Name: "coapply-power", Operation: byApply}}}
		looked += len(w.Observe(w.object, change))
		return len(w.strangers.unsent)
	}
	for range maxUnsent + 10 {
		unsent()
	}
	if looked != 1 {
		t.Errorf("to be looked at %d times, want once", looked)
	}
	if n := unsent(); n != maxUnsent {
		t.Errorf("%d are remembered, want %d", n, maxUnsent)
	}
	w.clock = w.clock.Add(window)
	if n := unsent(); n != 1 {
		t.Errorf("%d are remembered after a minute, want the new one", n)
	}
}
