package summary

import (
	"fmt"
	"math"
	"slices"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Row is one arm in one cell, over the trials that count. The trial is the unit: a measure is the mean of its values in
// the trials.
type Row struct {
	Name string `json:"cell"` // such as "hot-object w16 m4"
	compare.Cell
	Arm     string `json:"arm"`               // its name
	AA      bool   `json:"aa,omitempty"`      // the second run of an arm
	Control bool   `json:"control,omitempty"` // a negative control
	Trials  int    `json:"trials"`            // that count
	Void    int    `json:"void_trials"`       // that do not
	// NoVerdict says why the arm takes part in no comparison of the cell.
	NoVerdict string `json:"no_verdict,omitempty"`
	// Bottleneck says that the load generator was one, so that the cell has no verdict.
	Bottleneck string `json:"bottleneck,omitempty"`
	// Measures by name; one that a trial lacks is left out.
	Measures map[string]statistics.Estimate `json:"measures"`
	// Verbs are requests by verb and answer, such as "PUT 409", for each intent that landed.
	Verbs map[string]float64 `json:"verbs,omitempty"`

	Acknowledged int `json:"acknowledged"` // intents that sent something
	LostUpdates  int `json:"lost_updates"` // values
	LossTrials   int `json:"loss_trials"`  // that lost something
	Stolen       int `json:"stolen"`       // values that were overwritten on purpose
	Phantom      int `json:"phantom"`      // values that no intent explains
}

// group is the trials behind a row.
type group struct {
	planned results.PlannedCell
	row     Row
	trials  []results.Trial // those that count, by block
	void    []results.Trial
}

// groupsOf is in the order of the plan. An arm of which there is no trial has no group.
func groupsOf(decisions decided.File, run results.Run, trials []results.Trial) []group {
	type key struct {
		cell compare.Cell
		arm  string
		aa   bool
	}
	byKey := map[key][]results.Trial{}
	for _, t := range trials {
		k := key{t.Cell, t.Arm, t.AA}
		byKey[k] = append(byKey[k], t)
	}
	var groups []group
	for _, cell := range run.Plan {
		for i, arm := range append(slices.Clone(cell.Arms), cell.AA) {
			aa := i == len(cell.Arms)
			if own := byKey[key{cell.Cell, arm, aa}]; len(own) > 0 {
				groups = append(groups, newGroup(decisions, cell, arm, aa, own))
			}
		}
	}
	return groups
}

func newGroup(decisions decided.File, cell results.PlannedCell, arm string, aa bool, trials []results.Trial) group {
	g := group{planned: cell}
	for _, t := range trials {
		if t.Void != "" {
			g.void = append(g.void, t)
		} else {
			g.trials = append(g.trials, t)
		}
	}
	slices.SortStableFunc(g.trials, func(a, b results.Trial) int { return a.Block - b.Block })
	g.row = Row{
		Name: cell.String(), Cell: cell.Cell, Arm: arm, AA: aa, Control: cell.Control, Trials: len(g.trials), Void: len(g.void),
		Measures: map[string]statistics.Estimate{}, Verbs: g.verbs(),
	}
	for _, m := range Measures {
		if e, ok := statistics.Mean(g.values(m.of)); ok {
			g.row.Measures[m.Name] = e
		}
	}
	g.extras()
	for _, t := range g.trials {
		lost := t.Oracle.LostUpdates()
		g.row.Acknowledged += t.Oracle.Acknowledged
		g.row.LostUpdates += lost
		g.row.LossTrials += min(1, lost)
		g.row.Stolen += t.Oracle.Stolen
		g.row.Phantom += t.Oracle.Phantom
	}
	g.row.Bottleneck = g.bottleneck(decisions)
	g.row.NoVerdict = g.noVerdict(decisions)
	return g
}

// values of a measure; nil if a trial has none.
func (g group) values(of func(results.Trial) *float64) []float64 {
	var values []float64
	for _, t := range g.trials {
		value := of(t)
		if value == nil || math.IsNaN(*value) || math.IsInf(*value, 0) {
			return nil
		}
		values = append(values, *value)
	}
	return values
}

// extras are what the workload counts, as measures named "extra.NAME".
func (g group) extras() {
	if len(g.trials) == 0 {
		return
	}
	for name := range g.trials[0].Extra {
		if e, ok := statistics.Mean(g.values(extra(name))); ok {
			g.row.Measures["extra."+name] = e
		}
	}
}

func extra(name string) func(results.Trial) *float64 {
	return func(t results.Trial) *float64 {
		if value, found := t.Extra[name]; found {
			return &value
		}
		return nil
	}
}

func (g group) verbs() map[string]float64 {
	landed, verbs := 0, map[string]float64{}
	for _, t := range g.trials {
		landed += t.All.Landed
		for verb, r := range t.Client.Requests {
			verbs[verb] += float64(r.Count)
		}
	}
	for verb := range verbs {
		verbs[verb] /= float64(max(1, landed))
	}
	return verbs
}

// bottleneck says that the load generator was measured, and not the arm.
func (g group) bottleneck(decisions decided.File) string {
	if own, ok := g.row.Measures["own_share"]; ok && own.Mean > decisions.OwnShare {
		return fmt.Sprintf("the load generator is the bottleneck: its own code took %s of the writers' time", Percent(own.Mean))
	}
	bound := 0
	for _, t := range g.trials {
		if t.Load.Bottleneck != "" {
			bound++
		}
	}
	if bound > 0 && 2*bound >= len(g.trials) {
		return fmt.Sprintf("the load generator is the bottleneck, in %d of %s", bound, plural(len(g.trials), "trial"))
	}
	return ""
}

func (g group) noVerdict(decisions decided.File) string {
	switch {
	case len(g.trials) == 0:
		return "no trial counts: " + g.void[0].Void
	case g.planned.Control:
		return "a control shows what the oracle sees, not how fast it is"
	case g.row.Bottleneck != "":
		return g.row.Bottleneck
	case len(g.trials) < decisions.Trials:
		return fmt.Sprintf("%s that count, and it needs %d", plural(len(g.trials), "trial"), decisions.Trials)
	}
	return ""
}

// lookup returns the group of an arm in a cell, without A/A.
func (r *reckoning) lookup(cell, arm string) (group, bool) {
	for _, g := range r.groups {
		if g.row.Arm == arm && !g.row.AA && g.row.Name == cell && len(g.trials) > 0 {
			return g, true
		}
	}
	return group{}, false
}

// where returns the groups that satisfy a condition, without A/A and without what has no trial that counts.
func (r *reckoning) where(condition func(Row) bool) []group {
	var found []group
	for _, g := range r.groups {
		if !g.row.AA && len(g.trials) > 0 && condition(g.row) {
			found = append(found, g)
		}
	}
	return found
}

func (r *reckoning) rows() []Row {
	rows := make([]Row, len(r.groups))
	for i, g := range r.groups {
		rows[i] = g.row
	}
	return rows
}

// ordinary are the groups of arms that are no controls.
func (r *reckoning) ordinary() []group { return r.where(func(row Row) bool { return !row.Control }) }
