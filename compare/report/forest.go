package report

import (
	"fmt"
	"math"
	"slices"

	"coapply.dev/compare/results"
)

// forest shows paired ratios with their intervals on one logarithmic axis.
type forest struct {
	Title, Text string
	Rows        []forestRow
	Ticks       []forestTick
	// BandX and BandWidth are the margin within which arms are equivalent.
	BandX, BandWidth string
}

type forestRow struct {
	Cell, Arm, Baseline, Ratio, Range, P, Word, Why string
	Look                                            look
	AA                                              bool
	First                                           bool // of its cell
	Drawn, Whisker                                  bool
	X, Lo, Hi                                       string
	Blocks                                          int
}

type forestTick struct{ X, Text string }

// measures that are compared, with the words for a ratio above 1.
var measures = []struct{ name, short, title, text string }{
	{"goodput", "goodput", "Goodput, ratio to the baseline", "Right of 1: more intents land per second."},
	{"apiserver_cpu", "CPU of the API server", "CPU of the API server per intent, ratio to the baseline", "Right of 1: the API server works more for each intent."},
}

func measureTitle(name string) string {
	for _, m := range measures {
		if m.name == name {
			return m.short
		}
	}
	return name
}

func (b *builder) forests() []forest {
	var forests []forest
	for _, m := range measures {
		if f := b.forest(m.name, m.title, m.text); len(f.Rows) > 0 {
			forests = append(forests, f)
		}
	}
	for _, c := range b.results.Comparisons { // what a later version compares
		known := measureTitle(c.Measure) != c.Measure || c.Measure == "goodput"
		shown := slices.ContainsFunc(forests, func(f forest) bool { return f.Title == c.Measure })
		if !known && !shown {
			forests = append(forests, b.forest(c.Measure, c.Measure, ""))
		}
	}
	return forests
}

func (b *builder) forest(measure, title, text string) forest {
	f := forest{Title: title, Text: text}
	lo, hi := 0.5, 2.0
	var shown []results.Comparison
	for _, c := range b.results.Comparisons {
		if c.Measure != measure {
			continue
		}
		shown = append(shown, c)
		if drawable(c) && c.Word != noVerdict { // what counts for nothing does not set the scale
			lo, hi = min(lo, max(c.Lo, 1.0/64)), max(hi, min(c.Hi, 64))
		}
	}
	axis := ratioAxis{math.Log2(lo), math.Log2(hi)}
	f.Ticks = axis.ticks()
	margin := b.results.Run.Margin
	f.BandX, f.BandWidth = axis.at(1-margin), fmt.Sprintf("%.2f%%", axis.hundredths(1+margin)-axis.hundredths(1-margin))
	for i, c := range shown {
		f.Rows = append(f.Rows, forestRow{
			Cell: c.Cell, Arm: c.Arm, Baseline: c.Baseline, AA: c.AA, Look: b.palette.of(c.Arm), Blocks: c.Blocks,
			Ratio: ratioText(c, drawable(c)), Range: rangeText(c), P: pText(c), Word: wordOf(c), Why: cut(c.Why),
			First: i == 0 || shown[i-1].Cell != c.Cell, Drawn: drawable(c), Whisker: hasInterval(c),
			X: axis.at(c.Ratio), Lo: axis.at(c.Lo), Hi: axis.at(c.Hi),
		})
	}
	return f
}

// wordOf says of a cost what it is: an arm that costs more is called slower in the results.
func wordOf(c results.Comparison) string {
	switch {
	case c.Measure == "apiserver_cpu" && c.Word == "slower":
		return "costs more"
	case c.Measure == "apiserver_cpu" && c.Word == "faster":
		return "costs less"
	}
	return either(c.Word)
}

// ratioAxis is from lo to hi, as logarithms to base 2.
type ratioAxis struct{ lo, hi float64 }

func (a ratioAxis) hundredths(ratio float64) float64 {
	if ratio <= 0 || math.IsNaN(ratio) {
		return 2
	}
	return 2 + 96*min(max((math.Log2(ratio)-a.lo)/(a.hi-a.lo), 0), 1)
}

func (a ratioAxis) at(ratio float64) string { return fmt.Sprintf("%.2f%%", a.hundredths(ratio)) }

func (a ratioAxis) ticks() []forestTick {
	var ticks []forestTick
	every := max(1, math.Ceil((a.hi-a.lo)/7))
	for e := math.Ceil(a.lo/every) * every; e <= a.hi; e += every {
		text := number(math.Pow(2, e))
		if e >= 0 {
			text = count(int(math.Pow(2, e)))
		}
		ticks = append(ticks, forestTick{a.at(math.Pow(2, e)), text})
	}
	return ticks
}

// drawable tells whether a comparison has a ratio at all: those without a verdict may not.
func drawable(c results.Comparison) bool {
	return c.Ratio > 0 && finite(c.Ratio)
}

func hasInterval(c results.Comparison) bool {
	return drawable(c) && c.Lo > 0 && c.Hi > 0 && finite(c.Lo) && finite(c.Hi)
}

func ratioText(c results.Comparison, shown bool) string {
	if !shown {
		return na
	}
	return "× " + number(c.Ratio)
}

func rangeText(c results.Comparison) string {
	if !hasInterval(c) {
		return na
	}
	return fmt.Sprintf("[%s, %s]", number(c.Lo), number(c.Hi))
}

func logText(c results.Comparison) string {
	if !drawable(c) {
		return na
	}
	return fmt.Sprintf("%+.2f", math.Log2(c.Ratio))
}

func pText(c results.Comparison) string {
	if !drawable(c) || c.Blocks < 2 {
		return na
	}
	return fmt.Sprintf("%.3f", c.Adjusted)
}
