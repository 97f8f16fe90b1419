package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"coapply.dev/compare/summary"
)

// Situation describes the workload to get advice for.
type Situation struct {
	Writers, Processes, Objects, Managers int
	RTT                                   time.Duration
}

// Advice contains the results of a run for the cell that is most similar to a Situation.
type Advice struct {
	// Situation contains the recommended arms and the reason. If several arms are recommended, none of them proved to
	// be better than the others.
	Situation summary.Situation
	// Rows contains the results of all arms in the cell. The compared arms come first, sorted from best to worst. The
	// other arms lost updates, had too many intents that failed permanently, or have no value for the measure.
	Rows []summary.Row
	// Exact means that the cell has exactly the parameters of the Situation.
	Exact bool
}

// farthest is the maximum difference between a parameter of a cell and of a Situation, in powers of two. Each
// parameter of the cell must be between half and twice the value in the Situation. Round-trip times below 1 ms count
// as 1 ms.
const farthest = 1.0

// For returns the advice for a situation, based on the cells of the workload hot-object. It returns an error if the
// run is void, if no cell is similar enough, or if the most similar cell has no verdict (see docs/benchmarking.md).
func For(s summary.Summary, situation Situation) (Advice, error) {
	if s.Void != "" {
		return Advice{}, fmt.Errorf("the run is void: %s", s.Void)
	}
	cells := situation.sorted(s)
	if len(cells) == 0 {
		return Advice{}, fmt.Errorf("advice needs a run that compares arms in the workload hot-object: name the folder of such a run")
	}
	nearest := cells[0]
	if nearest.worst > farthest {
		return Advice{}, fmt.Errorf("nothing similar was measured: in the most similar cell, %s, a parameter is more than twice or less than half the value asked for", nearest.row.Name)
	}
	for _, contest := range s.Contests {
		if contest.Cell != nearest.row.Name || contest.Measure != "goodput_per_s" {
			continue
		}
		if contest.Why != "" {
			return Advice{}, fmt.Errorf("the comparison of the arms in the most similar cell, %s, has no verdict: %s", contest.Cell, contest.Why)
		}
		return Advice{Situation: s.Explain(contest), Rows: rowsOf(s, contest), Exact: nearest.sum == 0}, nil
	}
	return Advice{}, fmt.Errorf("the run does not compare the goodput of the arms in the most similar cell, %s", nearest.row.Name)
}

// distant is a cell with its distance from a Situation. In powers of two, worst is the difference of the parameter that
// differs most, and sum is the sum of the differences of all parameters.
type distant struct {
	row        summary.Row
	worst, sum float64
}

// sorted returns the cells of hot-object in which arms were compared, the most similar first.
func (s Situation) sorted(all summary.Summary) []distant {
	var cells []distant
	for _, row := range all.Rows {
		compared := slices.ContainsFunc(all.Contests, func(c summary.Contest) bool { return c.Cell == row.Name })
		if row.Workload != "hot-object" || row.Control || row.AA || row.Rate > 0 || !compared {
			continue
		}
		d := distant{row: row}
		for _, pair := range [][2]float64{
			{float64(s.Writers), float64(row.Writers)}, {float64(s.Processes), float64(max(1, row.Processes))},
			{float64(s.Objects), float64(max(1, row.Objects))}, {float64(s.Managers), float64(row.Managers)},
			{max(1, s.RTT.Seconds()*1000), max(1, row.RTT.Seconds()*1000)},
		} {
			off := math.Abs(math.Log2(pair[0] / pair[1]))
			d.worst, d.sum = max(d.worst, off), d.sum+off
		}
		cells = append(cells, d)
	}
	slices.SortStableFunc(cells, func(a, b distant) int {
		if (a.worst > farthest) != (b.worst > farthest) {
			return cmp.Compare(a.worst, b.worst)
		}
		return cmp.Compare(a.sum, b.sum)
	})
	return cells
}

func rowsOf(s summary.Summary, contest summary.Contest) []summary.Row {
	var in, out []summary.Row
	for _, row := range s.Rows {
		switch {
		case row.Name != contest.Cell || row.AA || row.Control:
		case slices.Contains(contest.Arms, row.Arm):
			in = append(in, row)
		default:
			out = append(out, row)
		}
	}
	slices.SortStableFunc(in, func(a, b summary.Row) int {
		return slices.Index(contest.Arms, a.Arm) - slices.Index(contest.Arms, b.Arm)
	})
	return append(in, out...)
}
