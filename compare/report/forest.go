package report

import (
	"fmt"
	"math"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
)

// forest is a forest plot: a ratio with its interval for each cell, on a logarithmic scale.
type forest struct {
	Title  string
	Margin [2]string // the start and the width of the band in which ratios are equivalent
	Rows   []forestRow
}

type forestRow struct {
	Cell, Text, Verdict, Class string
	Lo, At, Width              string // positions in per cent; empty if the ratio cannot be drawn
}

// newForest returns the forest plot of the goodput of one family of comparisons.
func newForest(s summary.Summary, family decided.Comparison) forest {
	margin := 1 + decided.Now.Margins.Other
	f := forest{Title: "Writes that landed, " + family.Text, Margin: [2]string{per(at(1 / margin)), per(at(margin) - at(1/margin))}}
	for _, c := range s.Comparisons {
		if c.Family != family.Name || c.Measure != goodput {
			continue
		}
		row := forestRow{Cell: phrase(s, c.Cell), Text: times(c), Verdict: verdict(c), Class: class(c)}
		if c.Lo > 0 { // there is an interval
			row.Lo, row.At, row.Width = per(at(c.Lo)), per(at(c.Ratio)), per(at(c.Hi)-at(c.Lo))
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// at returns the position of a ratio on the scale, in per cent of the width. The scale of page.html has 1 in the middle, and ends
// at 1/10 and 10.
func at(ratio float64) float64 { return 50 + 50*min(max(math.Log10(ratio), -1), 1) }

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

func per(v float64) string { return fmt.Sprintf("%.1f%%", v) }
