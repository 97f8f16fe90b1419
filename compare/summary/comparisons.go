package summary

import (
	"slices"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Names of the families of comparisons of the 2×2. The other families have the names in decided.yaml. Verdicts are adjusted
// for the number of comparisons of their family by one measure.
const (
	Protocol      = "protocol"            // Server-Side Apply against get-modify-update, without turns
	ProtocolTurns = "protocol with turns" // the same with turns
	TurnsGMU      = "turns, update"       // get-modify-update with turns against without
	TurnsSSA      = "turns, apply"        // Server-Side Apply with turns against without
	familyAA      = "a-a"                 // an arm against a second run of itself
)

// Comparison is the comparison of two arms in a cell by one measure. Ratio is a geometric mean over the blocks, or 0
// if the ratio does not exist. Lo and Hi are 0 if there are too few blocks for an interval.
type Comparison struct {
	Family  string  `json:"family"`     // the question that the comparison belongs to
	Cell    string  `json:"cell"`       // the name of the cell
	Arm     string  `json:"arm"`        // the arm that the verdict is about
	Against string  `json:"against"`    // the arm that Arm is compared with
	Measure string  `json:"measure"`    // the name of the measure
	Blocks  int     `json:"blocks"`     // the number of blocks that have a valid trial of both arms
	Ratio   float64 `json:"ratio"`      // the value of Arm divided by the value of Against
	Lo      float64 `json:"lo"`         // the lower end of the 95 % interval
	Hi      float64 `json:"hi"`         // the upper end
	P       float64 `json:"p_adjusted"` // the p-value, adjusted by Holm's method for the comparisons of the family and measure
	// Verdict is the verdict about Arm: better, worse, equivalent, undecided or no verdict.
	Verdict statistics.Verdict `json:"verdict"`
	Why     string             `json:"why,omitempty"` // the reason if there is no verdict
	// Again is the same comparison in the second run, if the report is about two runs. Then Verdict is what both runs say.
	Again *Comparison `json:"again,omitempty"`

	measured statistics.Ratio
}

// compareAll makes all comparisons of decided.yaml for which the run has the arms and cells.
func (r *reckoning) compareAll() {
	square := r.decided.Square
	for _, measure := range []string{goodput, serverCPU} {
		for _, c := range []decided.Comparison{
			{Name: Protocol, Arm: square.SSA, Against: square.GMU},
			{Name: ProtocolTurns, Arm: square.SSATurns, Against: square.GMUTurns},
			{Name: TurnsGMU, Arm: square.GMUTurns, Against: square.GMU},
			{Name: TurnsSSA, Arm: square.SSATurns, Against: square.SSA},
		} {
			r.judge(r.family(c, measure, r.decided.SquareCells()), r.decided.Margins.Square)
		}
		for _, c := range r.decided.Comparisons {
			r.judge(r.family(c, measure, r.cells()), r.decided.Margins.Other)
		}
	}
	r.judge(r.selves(), r.decided.Margins.Other)
}

// cells returns the names of the cells in which arms are compared: those whose outcome the construction does not decide.
func (r *reckoning) cells() []string {
	var names []string
	for _, g := range r.ordinary() {
		if !slices.Contains(names, g.row.Name) && !r.demonstration(g.row.Workload) {
			names = append(names, g.row.Name)
		}
	}
	return names
}

func (r *reckoning) demonstration(workload string) bool {
	for _, w := range r.run.Workloads {
		if w.Name == workload {
			return w.Demonstration
		}
	}
	return false
}

// family returns the comparisons of two arms by one measure, in the cells that have both.
func (r *reckoning) family(c decided.Comparison, measure string, cells []string) []Comparison {
	var family []Comparison
	for _, cell := range cells {
		a, found := r.lookup(cell, c.Arm)
		b, foundOther := r.lookup(cell, c.Against)
		if found && foundOther {
			family = append(family, r.compare(c.Name, a, b, measure))
		}
	}
	return family
}

// selves returns a comparison for each arm that was run twice (A/A): the second run against the first run.
func (r *reckoning) selves() []Comparison {
	var family []Comparison
	for _, g := range r.groups {
		if again, found := r.lookup(g.row.Name, g.row.Arm); g.row.AA && found && len(g.trials) > 0 {
			family = append(family, r.compare(familyAA, g, again, goodput))
		}
	}
	return family
}

// compare returns the comparison of two groups. If no verdict is possible, Verdict is NoVerdict and Why has the reason.
// Otherwise, judge adds the verdict later.
func (r *reckoning) compare(family string, a, b group, measure string) Comparison {
	c := Comparison{Family: family, Cell: a.row.Name, Arm: a.row.Arm, Against: b.row.Arm, Measure: measure, P: 1}
	ratio, err := paired(a, b, measure)
	if err != nil {
		c.Verdict, c.Why = statistics.NoVerdict, err.Error()
		return c
	}
	c.Blocks, c.Ratio, c.Lo, c.Hi, c.measured = ratio.N, ratio.Ratio, ratio.Lo, ratio.Hi, ratio
	if c.Why = r.incomparable(a, b); c.Why != "" {
		c.Verdict = statistics.NoVerdict
	}
	return c
}

// incomparable returns the reason why the ratio of two arms is meaningless. It returns "" if the arms can be compared.
func (r *reckoning) incomparable(a, b group) string {
	if r.void != "" {
		return "the run is void"
	}
	for _, g := range []group{a, b} {
		switch {
		case g.row.NoVerdict != "":
			return g.row.Arm + ": " + g.row.NoVerdict
		case g.row.LostUpdates > 0:
			return g.row.Arm + " lost updates, so the comparison of its speed is meaningless"
		}
	}
	return ""
}

// paired returns the ratio of two groups, over the blocks in which both have a valid trial.
func paired(a, b group, measure string) (statistics.Ratio, error) {
	m := measureOf(measure)
	byBlock := map[int]*float64{}
	for _, t := range b.trials {
		byBlock[t.Block] = m.of(t)
	}
	var x, y []float64
	for _, t := range a.trials {
		if value, other := m.of(t), byBlock[t.Block]; value != nil && other != nil {
			x, y = append(x, *value), append(y, *other)
		}
	}
	return statistics.Paired(x, y)
}

// judge adds the verdicts to a family of comparisons and stores the comparisons in r. Comparisons without a
// possible verdict do not count as members of the family.
func (r *reckoning) judge(family []Comparison, margin float64) {
	var cases []statistics.Case
	for _, c := range family {
		if c.Verdict == "" {
			cases = append(cases, statistics.Case{Ratio: c.measured, Cost: measureOf(c.Measure).Cost})
		}
	}
	judged := statistics.Judge(cases, margin)
	for _, c := range family {
		if c.Verdict == "" {
			c.Verdict, c.P = judged[0].Verdict, judged[0].P
			judged = judged[1:]
		}
		r.comparisons = append(r.comparisons, c)
	}
}

// repeat adds the comparisons of a second run. A verdict that only one of the runs has is undecided.
func (r *reckoning) repeat(again []Comparison) {
	for i := range r.comparisons {
		c := &r.comparisons[i]
		for _, other := range again {
			if c.Family != other.Family || c.Cell != other.Cell || c.Arm != other.Arm || c.Measure != other.Measure {
				continue
			}
			c.Again = &other
			switch {
			case c.Verdict == statistics.NoVerdict || c.Verdict == other.Verdict:
			case other.Verdict == statistics.NoVerdict:
				c.Verdict, c.Why = statistics.NoVerdict, "in the second run: "+other.Why
			default:
				c.Verdict = statistics.Undecided
			}
		}
	}
}

// Of returns the comparison of a family in a cell by a measure.
func (s Summary) Of(family, cell, measure string) (Comparison, bool) {
	i := slices.IndexFunc(s.Comparisons, func(c Comparison) bool { return c.Family == family && c.Cell == cell && c.Measure == measure })
	if i < 0 {
		return Comparison{}, false
	}
	return s.Comparisons[i], true
}

// counting returns the valid trials of the run.
func (r *reckoning) counting() []results.Trial {
	var all []results.Trial
	for _, g := range r.groups {
		all = append(all, g.trials...)
	}
	return all
}
