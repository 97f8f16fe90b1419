package steady

import (
	"context"
	"slices"
	"testing"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// wrongChecks say no-op where it is not one, each for a reason of its own.
var wrongChecks = map[string]steadyCheck{
	"whatever it is": func(context.Context, steadyQuestion) (bool, error) { return true, nil },
	"the values alone": func(_ context.Context, q steadyQuestion) (bool, error) {
		return sameJSON(graft(q.intent.form.shape, q.before.Object, q.intent.value), q.before.Object), nil
	},
	"the owners alone": func(_ context.Context, q steadyQuestion) (bool, error) { return ownsAll(q) },
	"values and owners, and not what is owned beyond": func(_ context.Context, q steadyQuestion) (bool, error) {
		owned, err := ownsAll(q)
		return owned && sameJSON(graft(q.intent.form.shape, q.before.Object, q.intent.value), q.before.Object), err
	},
}

// ownsAll tells whether every leaf of the intent is ours.
func ownsAll(q steadyQuestion) (bool, error) {
	ownership, err := fieldowners.Parse(q.before.GetManagedFields())
	if err != nil {
		return false, err
	}
	ours := func(m fieldowners.Manager) bool {
		return m.Name == kit.OurManager && m.Operation == "Apply" && m.Subresource == q.intent.subresource
	}
	foreign := placesIn(q.intent.form.shape, q.intent.value, func(p place) bool {
		path, err := fieldowners.ParsePath(p.path)
		return isLeafOf(p) && (err != nil || !slices.ContainsFunc(ownership.OwnersOf(path), ours))
	})
	return len(foreign) == 0, nil
}

// TestSteadyOracle holds that the oracle of TestSteadyProperty finds checks that say
// no-op where it is not one.
func TestSteadyOracle(t *testing.T) {
	t.Parallel()
	for name, wrong := range wrongChecks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := newSteadyRun(t, 200, wrong, neverQuiet)
			run.run(t)
			t.Log(&run.count.all)
			if run.count.all.lies == 0 {
				t.Error("no false no-op found")
			}
		})
	}
}

func neverQuiet(context.Context, steadyQuestion) (bool, error) { return false, nil }
