package summary

import (
	"fmt"
	"slices"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// tally counts the cells of hot-object by what plain Server-Side Apply does there against a way of get-modify-update.
type tally struct {
	rows                   []row
	better, worse, neither int
	thinCells              int // without a verdict
	best, worst            results.Comparison
}

// row is a cell with its comparison.
type row struct {
	cell       compare.Cell
	comparison results.Comparison
}

func (r *reckoning) tally(measure, rival string) tally {
	var t tally
	for _, planned := range r.run.Plan {
		if planned.Workload != "hot-object" || planned.Control {
			continue
		}
		c, found := r.stated(planned.String(), plainApply, rival, measure)
		if !found {
			continue
		}
		t.rows = append(t.rows, row{planned.Cell, c})
		switch c.Word {
		case statistics.Faster:
			t.better++
			if t.best.Word == "" || gain(c, measure) > gain(t.best, measure) {
				t.best = c
			}
		case statistics.Slower:
			t.worse++
			if t.worst.Word == "" || gain(c, measure) < gain(t.worst, measure) {
				t.worst = c
			}
		case statistics.NoVerdict:
			t.thinCells++
		default:
			t.neither++
		}
	}
	return t
}

// gain is above 1 where the arm does better, for a cost as well.
func gain(c results.Comparison, measure string) float64 {
	if measure == cpuMeasure {
		return 1 / c.Ratio
	}
	return c.Ratio
}

// nothing says why there is nothing to say; "" if there is.
func (t tally) nothing(rival string) string {
	switch {
	case len(t.rows) == 0:
		return fmt.Sprintf("n/a against %s: hot-object was not measured with both %s and it", rival, plainApply)
	case t.thinCells == len(t.rows):
		return fmt.Sprintf("no verdict against %s in %s: %s", rival, plural(t.thinCells, "cell"), t.rows[0].comparison.Why)
	}
	return ""
}

// sentence names both sides, with the cell in which each is furthest ahead.
func (t tally) sentence(better, worse string) string {
	judged := len(t.rows) - t.thinCells
	text := fmt.Sprintf("%s in %d of %s", better, t.better, plural(judged, "cell"))
	if t.better > 0 {
		text += fmt.Sprintf(" (at best %s, %s)", ratioText(t.best), t.best.Cell)
	}
	text += fmt.Sprintf(", %s in %d", worse, t.worse)
	if t.worse > 0 {
		text += fmt.Sprintf(" (at worst %s, %s)", ratioText(t.worst), t.worst.Cell)
	}
	if t.neither > 0 {
		text += fmt.Sprintf(", no difference shown in %d", t.neither)
	}
	if t.thinCells > 0 {
		text += fmt.Sprintf(" (no verdict in %s)", plural(t.thinCells, "cell"))
	}
	return text
}

// flip says where the winner changes: along managers with the writers held, or along writers with the managers held. "" if
// it does nowhere.
func (t tally) flip() string {
	managers := func(c compare.Cell) int { return c.Managers }
	writers := func(c compare.Cell) int { return c.Writers }
	if at := t.flipAlong(managers, writers); at != nil {
		return fmt.Sprintf("between %d and %s at %s", at[0].cell.Managers, plural(at[1].cell.Managers, "manager"),
			plural(at[0].cell.Writers, "writer"))
	}
	if at := t.flipAlong(writers, managers); at != nil {
		return fmt.Sprintf("between %d and %s at %s", at[0].cell.Writers, plural(at[1].cell.Writers, "writer"),
			plural(at[0].cell.Managers, "manager"))
	}
	return ""
}

// flipAlong gives two neighbours with opposite words that differ in one parameter only.
func (t tally) flipAlong(along, held func(compare.Cell) int) []row {
	var shown []row
	for _, r := range t.rows {
		if r.comparison.Word == statistics.Faster || r.comparison.Word == statistics.Slower {
			shown = append(shown, r)
		}
	}
	slices.SortStableFunc(shown, func(a, b row) int { return along(a.cell) - along(b.cell) })
	for i, a := range shown {
		for _, b := range shown[i+1:] {
			same := held(a.cell) == held(b.cell) && a.cell.RTT == b.cell.RTT && a.cell.Objects == b.cell.Objects
			if same && along(a.cell) != along(b.cell) && a.comparison.Word != b.comparison.Word {
				return []row{a, b}
			}
			if same && along(a.cell) != along(b.cell) {
				break // b is the neighbour, and agrees
			}
		}
	}
	return nil
}
