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

// Row is the result of one arm in one cell, over all trials that are not void. Each measure is the mean over these trials.
type Row struct {
	Name string `json:"cell"` // such as "hot-object w16 m4"
	compare.Cell
	Arm     string `json:"arm"`               // the name of the arm
	AA      bool   `json:"aa,omitempty"`      // whether this is the second run of the arm, for the A/A comparison
	Control bool   `json:"control,omitempty"` // whether the arm is a negative control
	Trials  int    `json:"trials"`            // the number of trials that are not void
	Void    int    `json:"void_trials"`       // the number of void trials
	// NoVerdict is the reason why the arm cannot be compared with the other arms of its cell. It is "" if the arm can be compared.
	NoVerdict string `json:"no_verdict,omitempty"`
	// Bottleneck is not empty if the load generator limited the results of this arm. Then the cell has no verdict.
	Bottleneck string `json:"bottleneck,omitempty"`
	// Measures maps the name of each measure to its estimate. A measure is missing if any trial has no value for it.
	Measures map[string]statistics.Estimate `json:"measures"`
	// Verbs maps a verb and a status code, such as "PUT 409", to the number of these requests per landed intent.
	Verbs map[string]float64 `json:"verbs,omitempty"`

	Acknowledged int `json:"acknowledged"` // acknowledged intents that sent a write
	LostUpdates  int `json:"lost_updates"` // values that were lost
	LossTrials   int `json:"loss_trials"`  // trials with lost updates
	Stolen       int `json:"stolen"`       // values that another field manager overwrote on purpose
	Phantom      int `json:"phantom"`      // changed values that no intent explains
}

// group contains the trials of one arm in one cell, and the row that is computed from them.
type group struct {
	planned results.PlannedCell
	row     Row
	trials  []results.Trial // the trials that are not void, sorted by block
	void    []results.Trial
}

// groupsOf returns one group for each arm of each cell, in the order of the plan. An arm without any trial has no group.
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

func (g group) label() string { return g.row.Arm + " in " + g.row.Name }

// values returns the values of a measure in all trials of the group. It returns nil if any trial has no value.
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

// extras adds one measure, named "extra.NAME", to the row for each number that the workload counts itself.
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
		for verb, count := range t.Client.Requests {
			verbs[verb] += float64(count)
		}
	}
	for verb := range verbs {
		verbs[verb] /= float64(max(1, landed))
	}
	return verbs
}

// bottleneck returns an explanation if the load generator, and not the arm, limited the results. Otherwise it returns "".
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
		return "a negative control checks the oracle, so its speed is not compared"
	case g.row.Bottleneck != "":
		return g.row.Bottleneck
	case len(g.trials) < decisions.Trials:
		return fmt.Sprintf("too few valid trials: %s, but a verdict needs %d", plural(len(g.trials), "trial"), decisions.Trials)
	}
	return ""
}

// lookup returns the group of an arm in a cell. It ignores the second runs of A/A comparisons, and groups in
// which all trials are void.
func (r *reckoning) lookup(cell, arm string) (group, bool) {
	for _, g := range r.groups {
		if g.row.Arm == arm && !g.row.AA && g.row.Name == cell && len(g.trials) > 0 {
			return g, true
		}
	}
	return group{}, false
}

// where returns the groups whose rows meet the condition. It ignores the second runs of A/A comparisons, and
// groups in which all trials are void.
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

// ordinary returns the groups of all arms that are not negative controls.
func (r *reckoning) ordinary() []group { return r.where(func(row Row) bool { return !row.Control }) }
