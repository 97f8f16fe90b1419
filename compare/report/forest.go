package report

import (
	"fmt"
	"math"

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
	Cell, Text, Verdict, Class string
	Lo, At, Width              string // positions in per cent; empty if the ratio cannot be drawn
}

// newForest returns the forest plot of the goodput of one family of comparisons.
func newForest(s summary.Summary, family decided.Comparison) forest {
	f := forest{Title: "Writes that landed, " + family.Text}
	lo, hi := 0.5, 2.0
	var drawn []summary.Comparison
	for _, c := range s.Comparisons {
		if c.Family == family.Name && c.Measure == goodput {
			drawn = append(drawn, c)
			if drawable(c.Lo) && drawable(c.Hi) {
				lo, hi = min(lo, c.Lo), max(hi, c.Hi)
			}
		}
	}
	low, high := math.Log(lo)-0.1, math.Log(hi)+0.1
	at := func(ratio float64) float64 { return 100 * (min(max(math.Log(ratio), low), high) - low) / (high - low) }
	step := 2.0 // between two ticks
	for math.Pow(step, 5) < hi/lo {
		step *= step
	}
	for v := math.Pow(step, math.Ceil(low/math.Log(step))); math.Log(v) <= high; v *= step {
		f.Ticks = append(f.Ticks, place{per(at(v)), fmt.Sprintf("%g×", v)})
	}
	margin := 1 + decided.Now.Margins.Other
	f.Margin = [2]string{per(at(1 / margin)), per(at(margin) - at(1/margin))}
	for _, c := range drawn {
		row := forestRow{Cell: phrase(s, c.Cell), Text: times(c), Verdict: verdict(c), Class: class(c)}
		if drawable(c.Ratio) && drawable(c.Lo) && drawable(c.Hi) {
			row.Lo, row.At, row.Width = per(at(c.Lo)), per(at(c.Ratio)), per(max(0, at(c.Hi)-at(c.Lo)))
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// times formats the ratio of a comparison, and that of the second run if there is one.
func times(c summary.Comparison) string {
	text := summary.Times(c.Ratio, c.Lo, c.Hi)
	if c.Again != nil {
		text += "; " + summary.Times(c.Again.Ratio, c.Again.Lo, c.Again.Hi)
	}
	return text
}

func verdict(c summary.Comparison) string {
	if c.Verdict == statistics.NoVerdict {
		return string(c.Verdict) + ": " + c.Why
	}
	return string(c.Verdict)
}

// class is the CSS class of a comparison.
func class(c summary.Comparison) string {
	return map[statistics.Verdict]string{statistics.Better: "better", statistics.Worse: "worse"}[c.Verdict]
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
