package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
)

// forest is a forest plot: a ratio with its interval for each cell, on a common logarithmic scale.
type forest struct {
	Title  string
	Ticks  []place
	Margin [2]string // the start and the width of the band in which ratios are equivalent
	Rows   []forestRow
}

// place is a tick of the scale. At is its position in per cent of the width.
type place struct{ At, Label string }

type forestRow struct {
	Cell, Text, Verdict, Class, First string
	Against                           string
	Lo, At, Width                     string // positions in per cent; empty if the ratio cannot be drawn
}

// newForest returns the forest plot of one family of comparisons. If the argument first is not empty, each
// row also shows this text, followed by the best arm of the cell.
func newForest(s summary.Summary, family, measure, title, first string) forest {
	f := forest{Title: title}
	lo, hi := 0.5, 2.0
	for _, c := range s.Comparisons {
		if c.Family == family && c.Measure == measure && drawable(c.Lo) && drawable(c.Hi) {
			lo, hi = min(lo, c.Lo), max(hi, c.Hi)
		}
	}
	low, high := math.Log(lo)-0.1, math.Log(hi)+0.1
	at := func(ratio float64) float64 { return 100 * (min(max(math.Log(ratio), low), high) - low) / (high - low) }
	for _, t := range logTicks(low, high, at) {
		f.Ticks = append(f.Ticks, place{per(t.At), t.Label + "×"})
	}
	if len(f.Ticks) > 5 {
		f.Ticks = slices.DeleteFunc(f.Ticks, func(p place) bool { return !strings.HasPrefix(strings.TrimLeft(p.Label, "0."), "1") })
	}
	margin := 1 + decided.Now.Margin
	f.Margin = [2]string{per(at(1 / margin)), per(at(margin) - at(1/margin))}
	for _, c := range s.Comparisons {
		if c.Family == family && c.Measure == measure {
			f.Rows = append(f.Rows, newForestRow(s, c, at, first))
		}
	}
	return f
}

func newForestRow(s summary.Summary, c summary.Comparison, at func(float64) float64, first string) forestRow {
	row := forestRow{
		Cell: phrase(s, c.Cell), Text: summary.Times(c.Ratio, c.Lo, c.Hi), Verdict: string(c.Verdict), Against: c.Against,
		Class: map[statistics.Verdict]string{statistics.Better: "better", statistics.Worse: "worse"}[c.Verdict],
	}
	if c.Verdict == statistics.NoVerdict {
		row.Verdict += ": " + c.Why
	}
	if drawable(c.Ratio) && drawable(c.Lo) && drawable(c.Hi) {
		row.Lo, row.At, row.Width = per(at(c.Lo)), per(at(c.Ratio)), per(max(0, at(c.Hi)-at(c.Lo)))
	}
	if first != "" {
		row.First = leader(s, c.Cell, c.Measure, first)
	}
	return row
}

// leader returns a text that names the winner of a cell, or the arms that share the lead if there is no winner.
func leader(s summary.Summary, cell, measure, first string) string {
	for _, c := range s.Contests {
		if c.Cell != cell || c.Measure != measure {
			continue
		}
		switch {
		case c.Why != "":
			return first + ": no verdict"
		case c.Winner != "" && len(c.Arms) > 1:
			return fmt.Sprintf("%s: %s, %s %s", first, summary.Arm(c.Winner), summary.Times(c.Ratio, c.Lo, c.Hi), summary.Arm(c.Arms[1]))
		case c.Winner != "":
			return fmt.Sprintf("%s: %s, no other arm was eligible", first, summary.Arm(c.Winner))
		}
		return first + ": nobody (`" + strings.Join(c.Shared, "`, `") + "`)"
	}
	return ""
}

// phrase returns a description of the cell with this name.
func phrase(s summary.Summary, cell string) string {
	for _, r := range s.Rows {
		if r.Name == cell {
			return summary.Phrase(r.Cell)
		}
	}
	return cell
}

func drawable(v float64) bool { return v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }

func per(v float64) string { return fmt.Sprintf("%.1f%%", v) }
