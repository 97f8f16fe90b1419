package summary

import (
	"cmp"
	"slices"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Families of comparisons. The verdicts of one are adjusted for how many they are.
const (
	familyOurs  = "ours"      // our arm against plain Server-Side Apply, a measure in every primary cell
	familyAvoid = "avoid"     // plain Server-Side Apply against the best arm that does not apply
	familyAA    = "a-a"       // an arm against itself
	familyFirst = "first"     // the leader of each primary cell, by a measure
	familyOther = "situation" // the leader of a cell of the situations that is not primary
)

// Comparison is the paired ratio of one arm to another in a cell: geometric mean over blocks. Ratio is 0 where there is
// none, Lo and Hi where there are too few blocks for an interval.
type Comparison struct {
	// Family is ours: coapply's arm against plain Server-Side Apply; avoid: that against the best arm without; a-a: an arm
	// against itself.
	Family  string  `json:"family"`
	Cell    string  `json:"cell"`       // its name
	Arm     string  `json:"arm"`        // compared
	Against string  `json:"against"`    // with this arm
	Measure string  `json:"measure"`    // its name
	Blocks  int     `json:"blocks"`     // with both arms
	Ratio   float64 `json:"ratio"`      // of Arm to Against
	Lo      float64 `json:"lo"`         // the lower end of the 95 % interval
	Hi      float64 `json:"hi"`         // the upper one
	P       float64 `json:"p_adjusted"` // Holm over the comparisons of the family and measure
	// Verdict is of Arm: better, worse, equivalent, undecided or no verdict.
	Verdict statistics.Verdict `json:"verdict"`
	Why     string             `json:"why,omitempty"` // of no verdict

	measured statistics.Ratio
	picked   int
}

// Contest is who leads a cell by a measure. There is a winner only if it beats every other arm.
type Contest struct {
	Family  string `json:"family"`  // first: of a primary cell; situation: of another
	Cell    string `json:"cell"`    // its name
	Measure string `json:"measure"` // its name
	// Arms that took part, the best first. An arm that lost updates or gave up too much does not.
	Arms   []string `json:"arms"`
	Winner string   `json:"winner,omitempty"` // beats every other arm
	// Shared are the arms that the leader, first among them, was not shown to beat; none if there is a winner.
	Shared []string `json:"shared,omitempty"`
	// Ratio of the leader to the runner-up, with its interval.
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"lo"`            // the lower end of the 95 % interval
	Hi    float64 `json:"hi"`            // the upper one
	P     float64 `json:"p_adjusted"`    // that the winner is none; Holm over the contests of the family and measure
	Why   string  `json:"why,omitempty"` // of no verdict
	// Out are arms that took no part, with the reason.
	Out map[string]string `json:"out,omitempty"`

	ratios []statistics.Ratio // of the leader to each other arm, the higher the better
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

// ours compares our arm with plain Server-Side Apply.
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

// avoided compares plain Server-Side Apply with whichever arm that does not apply did best.
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

// selves compares arms that ran twice with themselves.
func (r *reckoning) selves() []Comparison {
	var family []Comparison
	for _, g := range r.groups {
		if again, found := r.lookup(g.row.Name, g.row.Arm); g.row.AA && found && len(g.trials) > 0 {
			family = append(family, r.compare(familyAA, g, again, goodput))
		}
	}
	return family
}

// compare is without a verdict unless none can be had.
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

// incomparable says why a ratio of two arms means nothing; "" if it does.
func (r *reckoning) incomparable(a, b group) string {
	if r.void != "" {
		return "the run is void"
	}
	for _, g := range []group{a, b} {
		switch {
		case g.row.NoVerdict != "":
			return g.row.Arm + ": " + g.row.NoVerdict
		case g.row.LostUpdates > 0:
			return g.row.Arm + " lost updates, and who may lose them is quick"
		}
	}
	return ""
}

// paired is over the blocks in which both arms have a trial that counts.
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

// judge finds the verdicts of a family and keeps it. What gets none takes no part: it is no chance to err.
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

// byMean has the highest mean of a measure first; of a cost, the lowest.
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

// out says why an arm is not the answer to a question; "" if it may be.
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
			c.Why = "no arm was measured that lost nothing and gave up nothing"
		case c.Why == "":
			c.lead(rivals)
		}
		contests = append(contests, c)
	}
	return contests
}

// lead compares the leader with each other arm. Where a measure can be 0, such as the requests of a reconcile with
// nothing to do, it has no ratio: then who had less in every trial is better.
func (c *Contest) lead(rivals []group) {
	m, _ := measureOf(c.Measure)
	for _, g := range rivals[1:] {
		ratio, err := paired(rivals[0], g, c.Measure)
		if err != nil {
			ratio = statistics.Ratio{N: len(g.trials)} // never above a margin
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

// settle finds the winners of a family of contests and keeps it.
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

// close are the leader and the arms that it was not shown to beat; the runner-up always is one.
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

// counting returns the trials that count.
func (r *reckoning) counting() []results.Trial {
	var all []results.Trial
	for _, g := range r.groups {
		all = append(all, g.trials...)
	}
	return all
}
