package summary

import (
	"cmp"
	"slices"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Families of comparisons. Verdicts are adjusted for the number of comparisons in their family.
const (
	familyOurs  = "ours"      // coapply's arm against plain Server-Side Apply, by one measure in every primary cell
	familyAvoid = "avoid"     // plain Server-Side Apply against the best arm without Server-Side Apply
	familyAA    = "a-a"       // an arm against a second run of itself
	familyFirst = "first"     // the best arm of each primary cell, by one measure
	familyOther = "situation" // the best arm for each situation in decided.yaml that familyFirst does not cover
)

// Comparison is the comparison of two arms in a cell by one measure. Ratio is a geometric mean over the blocks, or 0
// if the ratio does not exist. Lo and Hi are 0 if there are too few blocks for an interval.
type Comparison struct {
	// Family is "ours" (coapply's arm against plain Server-Side Apply), "avoid" (plain Server-Side Apply
	// against the best arm without Server-Side Apply) or "a-a" (an arm against a second run of itself).
	Family  string  `json:"family"`
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

	measured statistics.Ratio
	picked   int
}

// Contest is the comparison of all arms of a cell by one measure. There is a winner only if the best arm beats every other arm.
type Contest struct {
	Family  string `json:"family"`  // "first" for a primary cell, "situation" for another cell
	Cell    string `json:"cell"`    // the name of the cell
	Measure string `json:"measure"` // the name of the measure
	// Arms are the names of the compared arms, the best first. Arms that lost updates or gave up too many intents are left out.
	Arms   []string `json:"arms"`
	Winner string   `json:"winner,omitempty"` // the arm that beats every other arm; "" if there is none
	// Shared is empty if there is a winner. Otherwise it has the best arm and the arms that it was not shown to beat.
	Shared []string `json:"shared,omitempty"`
	// Ratio is the value of the best arm divided by the value of the second-best arm.
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`            // the lower end of the 95 % interval
	Hi    float64 `json:"hi"`            // the upper end
	P     float64 `json:"p_adjusted"`    // the p-value for Arms[0] being the best, adjusted for all contests of the family and measure
	Why   string  `json:"why,omitempty"` // the reason if there is no verdict
	// Out has the excluded arms, each with the reason.
	Out map[string]string `json:"out,omitempty"`

	ratios []statistics.Ratio // of Arms[0] to each other arm; above 1 means that Arms[0] is better
}

func (r *reckoning) compareAll() {
	for _, measure := range []string{goodput, serverCPU} {
		r.judge(r.ours(measure))
		r.settle(r.contestsOf(familyFirst, measure, r.primary))
	}
	r.judge(r.avoided())
	r.judge(r.selves())
	var other []Contest
	for _, s := range r.decided.Situations {
		_, planned := r.planned(s.Cell)
		if _, settled := r.contest(s.Cell, s.Measure); planned && !settled {
			other = append(other, r.contestsOf(familyOther, s.Measure, []string{s.Cell})...)
		}
	}
	r.settle(other)
}

// ours returns the comparisons of coapply's arm with plain Server-Side Apply in the primary cells.
func (r *reckoning) ours(measure string) []Comparison {
	var family []Comparison
	for _, cell := range r.primary {
		a, found := r.lookup(cell, r.decided.Ours)
		b, foundOther := r.lookup(cell, r.decided.Plain)
		if found && foundOther {
			family = append(family, r.compare(familyOurs, a, b, measure))
		}
	}
	return family
}

// avoided returns the comparisons of plain Server-Side Apply with the best arm without Server-Side Apply, in each primary cell.
func (r *reckoning) avoided() []Comparison {
	var family []Comparison
	for _, cell := range r.primary {
		plain, found := r.lookup(cell, r.decided.Plain)
		var others []group
		for _, g := range r.where(func(row Row) bool { return row.Name == cell && !r.decided.Applies(row.Arm) }) {
			if r.out(g) == "" {
				others = append(others, g)
			}
		}
		if !found || len(others) == 0 {
			continue
		}
		slices.SortStableFunc(others, byMean(goodput))
		c := r.compare(familyAvoid, plain, others[0], goodput)
		c.picked = len(others)
		family = append(family, c)
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
	m, _ := measureOf(measure)
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
func (r *reckoning) judge(family []Comparison) {
	var cases []statistics.Case
	for _, c := range family {
		if c.Verdict == "" {
			m, _ := measureOf(c.Measure)
			cases = append(cases, statistics.Case{Ratio: c.measured, Picked: c.picked, Cost: m.Cost})
		}
	}
	judged := statistics.Judge(cases, r.decided.Margin)
	for _, c := range family {
		if c.Verdict == "" {
			c.Verdict, c.P = judged[0].Verdict, judged[0].P
			judged = judged[1:]
		}
		r.comparisons = append(r.comparisons, c)
	}
}

// byMean returns a sort function that puts the best mean of a measure first. For a cost, the best mean is the lowest.
func byMean(measure string) func(a, b group) int {
	m, _ := measureOf(measure)
	return func(a, b group) int {
		x, y := a.row.Measures[measure].Mean, b.row.Measures[measure].Mean
		if m.Cost {
			return cmp.Compare(x, y)
		}
		return cmp.Compare(y, x)
	}
}

// out returns the reason why an arm is excluded from contests. It returns "" if the arm is not excluded.
func (r *reckoning) out(g group) string {
	switch gaveUp, known := g.row.Measures["give_up_share"]; {
	case g.row.LostUpdates > 0:
		return "lost updates"
	case known && gaveUp.Mean > r.decided.GiveUps:
		return "gave up " + Percent(gaveUp.Mean)
	}
	return ""
}

func (r *reckoning) contestsOf(family, measure string, cells []string) []Contest {
	var contests []Contest
	m, _ := measureOf(measure)
	for _, cell := range cells {
		c := Contest{Family: family, Cell: cell, Measure: measure, Arms: []string{}, Out: map[string]string{}, P: 1}
		var rivals []group
		for _, g := range r.where(func(row Row) bool { return row.Name == cell && !row.Control }) {
			_, measured := g.row.Measures[measure]
			switch out := r.out(g); {
			case g.row.NoVerdict != "" && (g.row.NoVerdict != g.row.Bottleneck || !m.counts()):
				c.Why = g.row.Arm + ": " + g.row.NoVerdict
			case out != "":
				c.Out[g.row.Arm] = out
			case !measured:
				c.Out[g.row.Arm] = "without " + c.Measure
			default:
				rivals = append(rivals, g)
			}
		}
		slices.SortStableFunc(rivals, byMean(measure))
		for _, g := range rivals {
			c.Arms = append(c.Arms, g.row.Arm)
		}
		switch {
		case r.void != "":
			c.Why = "the run is void"
		case c.Why == "" && len(rivals) == 0:
			c.Why = "every arm lost updates, gave up too many intents or was not measured"
		case c.Why == "":
			c.lead(rivals)
		}
		contests = append(contests, c)
	}
	return contests
}

// lead compares the best arm, rivals[0], with each other arm. The ratio does not exist if a value is 0, such as the
// requests of a reconcile that changes nothing. In this case, the best arm counts as better only if all its values
// are lower than all values of the other arm.
func (c *Contest) lead(rivals []group) {
	m, _ := measureOf(c.Measure)
	for _, g := range rivals[1:] {
		ratio, err := paired(rivals[0], g, c.Measure)
		if err != nil {
			ratio = statistics.Ratio{N: len(g.trials)} // a ratio that never counts as better
			if m.Cost && slices.Max(rivals[0].values(m.of)) < slices.Min(g.values(m.of)) {
				ratio = statistics.Apart(ratio.N)
			}
		} else if m.Cost {
			ratio = ratio.Inverse()
		}
		c.ratios = append(c.ratios, ratio)
	}
	if len(c.ratios) > 0 && c.ratios[0].Ratio > 0 {
		next := c.ratios[0]
		if m.Cost {
			next = next.Inverse()
		}
		c.Ratio, c.Lo, c.Hi = next.Ratio, next.Lo, next.Hi
	}
}

// settle adds the winners to a family of contests and stores the contests in r.
func (r *reckoning) settle(family []Contest) {
	var p []float64
	for _, c := range family {
		if c.Why == "" {
			p = append(p, statistics.First(c.ratios, r.decided.Margin))
		}
	}
	adjusted := statistics.Holm(p)
	for _, c := range family {
		if c.Why == "" {
			c.P, adjusted = adjusted[0], adjusted[1:]
			switch {
			case len(c.Arms) == 1, c.P <= 1-statistics.Confidence:
				c.Winner = c.Arms[0]
			default:
				c.Shared = c.close(r.decided.Margin, len(p))
			}
		}
		r.contests = append(r.contests, c)
	}
}

// close returns the best arm and the arms that it was not shown to beat. The second-best arm is always one of them.
func (c *Contest) close(margin float64, contests int) []string {
	shared := c.Arms[:2:2]
	for i, ratio := range c.ratios[1:] {
		if p := ratio.Above(margin) * float64(len(c.Arms)*contests); p > 1-statistics.Confidence {
			shared = append(shared, c.Arms[i+2])
		}
	}
	return shared
}

func (r *reckoning) contest(cell, measure string) (Contest, bool) {
	for _, c := range r.contests {
		if c.Cell == cell && c.Measure == measure {
			return c, true
		}
	}
	return Contest{}, false
}

// counting returns the valid trials of the run.
func (r *reckoning) counting() []results.Trial {
	var all []results.Trial
	for _, g := range r.groups {
		all = append(all, g.trials...)
	}
	return all
}
