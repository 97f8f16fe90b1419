package bench

import (
	"os"
	"strings"
	"testing"
)

// onPoorCluster is a run of which one workload needs what the cluster lacks.
func onPoorCluster(t *testing.T, needy string) *attempt {
	t.Helper()
	a := newAttempt(t, 1, &fakeCluster{lacks: "boxes.example.com"})
	for i, w := range a.Catalogue.Workloads {
		if w.Name == needy {
			a.Catalogue.Workloads[i].Needs = "boxes.example.com"
		}
	}
	return a
}

func TestWhatTheClusterCannotHoldIsLeftOut(t *testing.T) {
	a := onPoorCluster(t, "rounds")
	other := a.Run.Plan[0]
	other.Workload, other.Arms = "rounds", []string{"ssa"}
	a.Run.Plan = append(a.Run.Plan, other)
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if run, counting, _ := a.kept(t); counting != 2 || len(run.Plan) != 1 || len(run.Workloads) != 1 {
		t.Errorf("%d trials in %d cells", counting, len(run.Plan))
	}
	a.wantSaid(t, 1, "rounds is left out: the cluster lacks the CustomResourceDefinition boxes.example.com")
}

func TestNothingThatTheClusterCanHold(t *testing.T) {
	a := onPoorCluster(t, "hot-object")
	control := a.Run.Plan[0]
	control.Control, control.Workload = true, "local"
	a.Run.Plan = append(a.Run.Plan, control)
	err := a.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "nothing is left to measure: hot-object is left out") {
		t.Error(err)
	}
	if _, err := os.Stat(a.Dir); !os.IsNotExist(err) {
		t.Errorf("a folder without a run is left: %v", err)
	}
}
