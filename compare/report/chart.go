package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
)

// chartWorkload is the workload of the chart on the first screen.
const chartWorkload = "hot-object"

// chart shows goodput as a function of the number of writers. It has one panel for each round-trip time.
type chart struct {
	Panels []panel
	Note   string
}

// panel is one diagram of the chart. Its vertical scale is logarithmic: equal ratios have equal distances.
type panel struct {
	Title          string
	Width, Height  int
	Left, Right    float64 // horizontal ends of the axes
	Top, Bottom    float64
	XTicks, YTicks []tick
	Lines          []line
}

type tick struct {
	At    float64
	Label string
}

// line is the curve of one arm. The CSS class sets the colour and the dash pattern.
type line struct {
	Arm, Class, Points string
	Marks              []mark
	LabelX, LabelY     float64
}

type mark struct{ X, Y, Lo, Hi float64 }

// colours is the number of colours for curves in page.css.
const colours = 9

// The size of a panel and of its margins, in units of the SVG image.
const (
	panelWidth, panelHeight = 440, 260
	leftEdge, rightEdge     = 38.0, 310.0
	topEdge, bottomEdge     = 10.0, 226.0
	lineHeight              = 14.0
)

func newChart(rows []summary.Row) chart {
	var c chart
	arms := armsOf(slices.DeleteFunc(slices.Clone(rows), func(r summary.Row) bool { return r.Workload != chartWorkload }))
	lo, hi := math.Inf(1), math.Inf(-1)
	var drawn [][]summary.Row
	for _, rtt := range decided.Now.Chart.RoundTrips() {
		own := slices.DeleteFunc(slices.Clone(rows), func(r summary.Row) bool { return !charted(r, rtt) })
		drawn = append(drawn, own)
		for _, r := range own {
			g := r.Measures[goodput].Mean
			lo, hi = min(lo, g), max(hi, g)
		}
	}
	for i, rtt := range decided.Now.Chart.RoundTrips() {
		if len(drawn[i]) > 0 {
			c.Panels = append(c.Panels, newPanel(drawn[i], arms, rtt, lo, hi))
		}
	}
	if len(c.Panels) == 0 {
		c.Note = "This run has none of the cells that the chart shows."
	}
	return c
}

// charted reports whether the row is a point in the panel for the given round-trip time.
func charted(r summary.Row, rtt time.Duration) bool {
	want := decided.Now.Chart
	return r.Workload == chartWorkload && r.RTT == rtt && max(1, r.Processes) == want.Processes && r.Rate == 0 && r.Objects <= 1 &&
		r.Managers == want.Managers && !r.AA && !r.Control && drawable(r.Measures[goodput].Mean)
}

func newPanel(rows []summary.Row, arms []string, rtt time.Duration, lo, hi float64) panel {
	p := panel{Title: "no added round trip", Width: panelWidth, Height: panelHeight, Left: leftEdge, Right: rightEdge, Top: topEdge, Bottom: bottomEdge}
	if rtt > 0 {
		p.Title = strings.Replace(rtt.String(), "ms", " ms", 1) + " of round trip added"
	}
	var writers []int
	for _, r := range rows {
		if !slices.Contains(writers, r.Writers) {
			writers = append(writers, r.Writers)
		}
	}
	slices.Sort(writers)
	x := func(n int) float64 {
		i := slices.Index(writers, n)
		return leftEdge + 14 + (rightEdge-leftEdge-28)*float64(i)/float64(max(1, len(writers)-1))
	}
	lo, hi = math.Log(lo)-0.12, math.Log(hi)+0.12
	y := func(v float64) float64 {
		return math.Round(10*(bottomEdge-(bottomEdge-topEdge)*(min(max(math.Log(v), lo), hi)-lo)/(hi-lo))) / 10
	}
	for _, n := range writers {
		p.XTicks = append(p.XTicks, tick{x(n), summary.Count(n)})
	}
	p.YTicks = logTicks(lo, hi, y)
	for i, arm := range arms {
		if l, drawn := newLine(rows, arm, x, y); drawn {
			l.Class = fmt.Sprintf("k%d", i%colours)
			if arm == decided.Now.Ours || arm == decided.Now.Plain {
				l.Class += " main"
			}
			p.Lines = append(p.Lines, l)
		}
	}
	spread(p.Lines)
	return p
}

func newLine(rows []summary.Row, arm string, x func(int) float64, y func(float64) float64) (line, bool) {
	own := slices.DeleteFunc(slices.Clone(rows), func(r summary.Row) bool { return r.Arm != arm })
	slices.SortStableFunc(own, func(a, b summary.Row) int { return a.Writers - b.Writers })
	l := line{Arm: arm}
	var points []string
	for _, r := range own {
		m := newMark(r.Measures[goodput], x(r.Writers), y)
		l.Marks = append(l.Marks, m)
		points = append(points, fmt.Sprintf("%.1f,%.1f", m.X, m.Y))
		l.LabelX, l.LabelY = rightEdge+6, m.Y+4
	}
	l.Points = strings.Join(points, " ")
	return l, len(own) > 0
}

func newMark(e statistics.Estimate, x float64, y func(float64) float64) mark {
	m := mark{X: math.Round(10*x) / 10, Y: y(e.Mean)}
	m.Lo, m.Hi = m.Y, m.Y
	if e.Lo != nil && e.Hi != nil && *e.Hi > 0 {
		m.Lo, m.Hi = y(max(*e.Lo, math.SmallestNonzeroFloat64)), y(*e.Hi)
	}
	return m
}

// logTicks returns the ticks of a logarithmic axis, given the logarithms of its ends. The ticks are 1, 2 and 5 times
// the powers of ten. A long axis has ticks only at some powers of ten.
func logTicks(lo, hi float64, at func(float64) float64) []tick {
	steps, stride := []float64{1, 2, 5}, 1.0
	if hi-lo > math.Log(2000) {
		steps, stride = steps[:1], math.Ceil((hi-lo)/math.Log(1e8))
	}
	var ticks []tick
	for power := math.Floor(lo / math.Ln10); power <= hi/math.Ln10; power += stride {
		for _, step := range steps {
			if v := step * math.Pow(10, power); math.Log(v) >= lo && math.Log(v) <= hi {
				ticks = append(ticks, tick{at(v), number(v)})
			}
		}
	}
	return ticks
}

// number formats the value of a tick, such as 5 or 0.5. It does not round.
func number(v float64) string {
	if v >= 1000 {
		return summary.Count(int(v))
	}
	return fmt.Sprintf("%g", v)
}

// spread moves the labels of curves apart so that they do not overlap, and keeps them inside the panel.
func spread(lines []line) {
	order := make([]*line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *line) int { return cmp.Compare(a.LabelY, b.LabelY) })
	for i := 1; i < len(order); i++ {
		order[i].LabelY = max(order[i].LabelY, order[i-1].LabelY+lineHeight)
	}
	last := bottomEdge + 6
	for _, l := range slices.Backward(order) {
		l.LabelY = min(l.LabelY, last)
		last = l.LabelY - lineHeight
	}
}
