package bench

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare"
)

// gridArms are the arms of the test catalogue that are no negative controls.
var gridArms = []string{"gmu-requeue", "ssa", "gmu-lanes", "ssa-lanes", "gmu-default-retry", "update", "apply", "patch-lock"}

// catalogue has a workload for the grid, one with rounds, one that needs the local control plane.
func catalogue() compare.Catalogue {
	newArm := func(compare.Session) (compare.Writer, error) { return nil, nil }
	prepare := func(context.Context, compare.Stage) (compare.Run, error) { return nil, nil }
	var c compare.Catalogue
	for _, name := range gridArms {
		c.Arms = append(c.Arms, compare.Arm{Name: name, New: newArm})
	}
	c.Arms = append(c.Arms,
		compare.Arm{Name: "put-no-rv", New: newArm, Control: true},
		compare.Arm{Name: "shared-manager", New: newArm, Control: true},
		compare.Arm{Name: "mine", New: newArm})
	c.Workloads = []compare.Workload{
		{Name: "hot-object", Arms: gridArms, Prepare: prepare, Defaults: compare.Parameters{Writers: 8, Managers: 4}},
		{Name: "ten-reconcilers", Arms: []string{"ssa", "apply"}, Prepare: prepare, Fixed: []string{"managers"}, Defaults: compare.Parameters{Writers: 10, Rounds: 20}},
		{Name: "node-uncordon", Arms: []string{"ssa"}, Prepare: prepare, Local: true},
	}
	return c
}

func TestEveryProfileHasControls(t *testing.T) {
	for _, name := range Profiles {
		controls := 0
		for _, cell := range Plan(catalogue(), name) {
			if cell.Control {
				controls++
				continue
			}
			if cell.Baseline != cell.Arms[0] || cell.Blocks == 0 || (cell.Rounds > 0) == (cell.Duration > 0) {
				t.Errorf("%s: %+v", name, cell)
			}
		}
		if controls != 1 {
			t.Errorf("%s: %d cells with controls", name, controls)
		}
	}
}

func TestOrderRunsEveryArmOnceABlock(t *testing.T) {
	plan := Plan(catalogue(), Review)
	steps := order(plan, 7)
	count := map[step]int{}
	for i, s := range steps {
		if i > 0 && s.block < steps[i-1].block {
			t.Fatal("a block begins before the one before it has ended")
		}
		s.seed = 0
		count[s]++
	}
	want := 0
	for i, cell := range plan {
		want += cell.Blocks * len(cell.Arms)
		if cell.AA != "" {
			want += cell.Blocks
		}
		for block := range cell.Blocks {
			for _, arm := range cell.Arms {
				if n := count[step{cell: i, arm: arm, block: block}]; n != 1 {
					t.Errorf("%s runs %d times in block %d of %s", arm, n, block, cell.Cell)
				}
			}
		}
	}
	if len(steps) != want {
		t.Errorf("%d trials, want %d", len(steps), want)
	}
	if !slices.Equal(steps, order(plan, 7)) || slices.Equal(steps, order(plan, 8)) {
		t.Error("the order is to follow from the seed alone")
	}
}

func TestSweep(t *testing.T) {
	good := Sweep{Workloads: []string{"hot-object"}, Trials: 6, Duration: time.Second}
	for _, test := range []struct {
		reason string
		change func(*Sweep)
		set    string
		want   string
	}{
		{"as it is", func(*Sweep) {}, "", ""},
		{"no writers", func(s *Sweep) { s.Writers = []int{4, 0} }, "", "--writers 0 is out of range: use 1 or more"},
		{"no trials", func(s *Sweep) { s.Trials = 0 }, "", "--trials 0"},
		{"two ends", func(s *Sweep) { s.Rounds, s.Rate = 1, 1 }, "", "so --rate has no effect"},
		{"no time", func(s *Sweep) { s.Duration = 0 }, "", "--duration 0s"},
		{"an arm twice", func(s *Sweep) { s.Arms = []string{"ssa", "ssa"} }, "", "has ssa twice"},
		{"a control", func(s *Sweep) { s.Arms = []string{"put-no-rv"} }, "", "negative control"},
		{"an arm of another workload", func(s *Sweep) {
			s.Workloads, s.Arms = []string{"node-uncordon"}, []string{"apply"}
		}, "", "makes no sense in workload node-uncordon"},
		{"an arm of the user's", func(s *Sweep) { s.Workloads, s.Arms = []string{"node-uncordon"}, []string{"mine"} }, "", ""},
		{"a parameter that means nothing", func(s *Sweep) { s.Workloads = []string{"ten-reconcilers"} }, "managers", "--managers has no effect in workload ten-reconcilers"},
	} {
		s := good
		test.change(&s)
		_, err := s.Plan(catalogue(), func(flag string) bool { return flag == test.set })
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.reason, err)
		}
	}
}

func TestSweepIsEveryCombination(t *testing.T) {
	s := Sweep{
		Workloads: []string{"hot-object"}, Writers: []int{1, 8}, Managers: []int{1, 4, 16}, Trials: 6, Duration: time.Second,
	}
	plan, err := s.Plan(catalogue(), func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, cell := range plan {
		names = append(names, cell.Cell.String())
	}
	want := "hot-object w1 m1,hot-object w1 m4,hot-object w1 m16,hot-object w8 m1,hot-object w8 m4,hot-object w8 m16,hot-object w4 m4"
	if got := strings.Join(names, ","); got != want || !plan[6].Control {
		t.Errorf("cells %s", got)
	}
}

func TestForeignClusters(t *testing.T) {
	plan := Plan(catalogue(), Quick)
	if err := CheckForeign(plan, catalogue()); err == nil || !strings.Contains(err.Error(), "workload node-uncordon needs the local control plane") {
		t.Errorf("a workload for the local control plane: %v", err)
	}
	if err := CheckForeign(WithoutLocal(plan, catalogue()), catalogue()); err != nil {
		t.Error(err)
	}
}
