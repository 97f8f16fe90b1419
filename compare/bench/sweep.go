package bench

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// Sweep contains the values of the flags that select cells. The plan has a cell for each workload and each
// combination of the listed values. An empty list means the workload's default.
type Sweep struct {
	Workloads, Arms                       []string
	Writers, Processes, Objects, Managers []int
	RTT                                   []time.Duration
	Rate                                  float64
	Rounds, Trials                        int
	Warmup, Duration                      time.Duration
}

// Plan returns the selected cells, and the cell of the negative controls. All names must be in the catalogue. The function set
// reports whether the user has set a flag. Plan returns an error if the user has set a flag that has no effect in a workload.
func (s Sweep) Plan(c compare.Catalogue, set func(flag string) bool) ([]results.PlannedCell, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var plan []results.PlannedCell
	for _, name := range s.Workloads {
		w, _ := c.Workload(name)
		arms, err := s.arms(c, w)
		if err != nil {
			return nil, err
		}
		for _, fixed := range w.Fixed {
			if set(fixed) {
				return nil, fmt.Errorf("--%s has no effect in workload %s: leave this flag out", fixed, w.Name)
			}
		}
		for _, cell := range s.cells(w, arms) {
			if err := checkCell(cell.Cell, w, set); err != nil {
				return nil, err
			}
			plan = append(plan, cell)
		}
	}
	return append(plan, controls(c)...), nil
}

// cells returns a cell of the workload for each combination of the listed values.
func (s Sweep) cells(w compare.Workload, arms []string) (cells []results.PlannedCell) {
	for _, p := range s.combinations() {
		cell := planned(w, p)
		cell.Arms, cell.Blocks, cell.Baseline, cell.AA = arms, s.Trials, arms[0], arms[0]
		cells = append(cells, cell)
	}
	return cells
}

// arms returns the arms of the flag --arms or, if the flag is not set, the default arms of the workload.
func (s Sweep) arms(c compare.Catalogue, w compare.Workload) ([]string, error) {
	arms := s.Arms
	if len(arms) == 0 {
		arms = w.Arms
	}
	if len(arms) == 0 {
		return nil, fmt.Errorf("workload %s has no default arms: set --arms", w.Name)
	}
	for _, name := range arms {
		arm, _ := c.Arm(name)
		switch {
		case arm.Control:
			return nil, fmt.Errorf("arm %s is a negative control, which every run includes: remove it from --arms", name)
		case len(w.Arms) > 0 && !slices.Contains(w.Arms, name) && named(c, name):
			return nil, fmt.Errorf("arm %s makes no sense in workload %s: use %s", name, w.Name, strings.Join(w.Arms, ", "))
		}
	}
	return slices.Clone(arms), nil
}

// named reports whether any workload lists the arm. An arm that no workload lists may run in every workload.
func named(c compare.Catalogue, arm string) bool {
	return slices.ContainsFunc(c.Workloads, func(w compare.Workload) bool { return slices.Contains(w.Arms, arm) })
}

func (s Sweep) combinations() []compare.Parameters {
	var all []compare.Parameters
	for _, writers := range orNone(s.Writers) {
		for _, processes := range orNone(s.Processes) {
			for _, objects := range orNone(s.Objects) {
				for _, managers := range orNone(s.Managers) {
					for _, rtt := range orNone(s.RTT) {
						all = append(all, compare.Parameters{
							Writers: writers, Processes: processes, Objects: objects, Managers: managers, RTT: rtt,
							Rate: s.Rate, Rounds: s.Rounds, Warmup: s.Warmup, Duration: s.Duration,
						})
					}
				}
			}
		}
	}
	return all
}

func orNone[T any](list []T) []T {
	if len(list) == 0 {
		return make([]T, 1)
	}
	return list
}

func (s Sweep) check() error {
	for _, err := range []error{
		once("workload", s.Workloads), once("arms", s.Arms), atLeast("writers", 1, s.Writers...), atLeast("objects", 1, s.Objects...),
		atLeast("processes", 1, s.Processes...), atLeast("managers", 1, s.Managers...), atLeast("trials", 1, s.Trials),
		atLeast("rtt", 0, s.RTT...), atLeast("rate", 0, s.Rate), atLeast("rounds", 0, s.Rounds), atLeast("warmup", 0, s.Warmup),
		atLeast("duration", 100*time.Millisecond, s.Duration),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// atLeast returns an error if a value of the flag is below least, or given twice.
func atLeast[T cmp.Ordered](flag string, least T, values ...T) error {
	for _, v := range values {
		if cmp.Less(v, least) { // cmp.Less treats NaN as less than any number
			return fmt.Errorf("--%s %v is out of range: use %v or more", flag, v, least)
		}
	}
	return once(flag, values)
}

// once returns an error if a list has a value twice, because two cells would then have the same name.
func once[T comparable](flag string, list []T) error {
	for i, v := range list {
		if slices.Contains(list[:i], v) {
			return fmt.Errorf("--%s has %v twice: to make more trials, use --trials", flag, v)
		}
	}
	return nil
}

// checkCell returns an error if parameters of a cell contradict each other.
func checkCell(c compare.Cell, w compare.Workload, set func(flag string) bool) error {
	switch {
	case c.Rounds > 0 && (set("duration") || set("warmup")):
		return fmt.Errorf("%s: a trial ends after %d rounds, so --warmup and --duration have no effect: leave them out", c, c.Rounds)
	case c.Rounds > 0 && c.Rate > 0:
		return fmt.Errorf("%s: a trial that ends after %d rounds has no fixed duration, so --rate has no effect: leave --rate out", c, c.Rounds)
	case c.Processes > c.Writers:
		return fmt.Errorf("%s: %d processes need at least as many writers: set --writers", c, c.Processes)
	case c.Processes > 1 && w.Attach == nil:
		return fmt.Errorf("%s: workload %s cannot run in several processes: leave --processes out", c, w.Name)
	case c.Processes > 1 && c.Rounds > 0:
		return fmt.Errorf("%s: a trial in several processes ends after --warmup and --duration: leave --rounds out", c)
	}
	return nil
}

// CheckForeign returns an error if a cell needs the local control plane.
func CheckForeign(plan []results.PlannedCell, c compare.Catalogue) error {
	for _, cell := range plan {
		if w, _ := c.Workload(cell.Workload); w.Local {
			return fmt.Errorf("workload %s needs the local control plane: leave --kubeconfig and --context out", w.Name)
		}
	}
	return nil
}

// WithoutLocal returns the cells that do not need the local control plane.
func WithoutLocal(plan []results.PlannedCell, c compare.Catalogue) []results.PlannedCell {
	return slices.DeleteFunc(slices.Clone(plan), func(cell results.PlannedCell) bool {
		w, _ := c.Workload(cell.Workload)
		return w.Local
	})
}
