package advise

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"coapply.dev/compare/summary"
)

// Situation is where a way of writing is looked for.
type Situation struct {
	Writers, Processes, Objects, Managers int
	RTT                                   time.Duration
}

// Advice is what a run measured in the cell that is nearest to a situation.
type Advice struct {
	// Situation has the arms to use and why; several of which none was shown to be better.
	Situation summary.Situation
	// Rows are the arms of the cell: those in question, the best first, then those that lost or gave up something.
	Rows []summary.Row
	// Exact says that the situation itself was measured; otherwise the nearest cell stands for it.
	Exact bool
}

// farthest a cell may be from a situation in any parameter: twice or half as much. Round-trip times below a millisecond
// are alike.
const farthest = 1.0

// For returns what the cells of hot-object say of a situation. It is an error where the run is void, no cell is near
// enough, or the nearest one has no verdict: the message says which, and what was measured.
func For(s summary.Summary, situation Situation) (Advice, error) {
	if s.Void != "" {
		return Advice{}, fmt.Errorf("the run is void: %s", s.Void)
	}
	cells := situation.sorted(s)
	if len(cells) == 0 {
		return Advice{}, fmt.Errorf("it has no cell of hot-object in which arms were compared")
	}
	nearest := cells[0]
	if nearest.worst > farthest {
		return Advice{}, fmt.Errorf("nothing like it was measured: the nearest cell is %s, more than twice or less than half as much", nearest.row.Name)
	}
	for _, contest := range s.Contests {
		if contest.Cell != nearest.row.Name || contest.Measure != "goodput_per_s" {
			continue
		}
		if contest.Why != "" {
			return Advice{}, fmt.Errorf("its nearest cell, %s, has no verdict: %s", contest.Cell, contest.Why)
		}
		return Advice{Situation: s.Explain(contest), Rows: rowsOf(s, contest), Exact: nearest.sum == 0}, nil
	}
	return Advice{}, fmt.Errorf("its nearest cell, %s, was not compared", nearest.row.Name)
}

// distant is a cell with its distance, in powers of two: of the parameter that is farthest, and of all.
type distant struct {
	row        summary.Row
	worst, sum float64
}

// sorted are the cells with a contest, the nearest first.
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
