package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"coapply.dev/compare/results"
)

// goodputChart draws the goodput of a sweep over the number of writers, with 95 % intervals and the band of the model.
func (b *builder) goodputChart(sweep cellGroup) (chart, error) {
	p := newPlot("writers", "intents per second")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, writerTicks(sweep.Results)
	data := table{Title: "Goodput per second: " + sweep.Key.Title(), Columns: columns("arm", "#writers", "#goodput", "model band")}
	c := b.newChart("Goodput over writers: "+sweep.Key.Title(), sweep.Key.Loop()+", mean over trials with 95 % interval")
	top := highest(sweep.Results)
	arms := armsOf(sweep.Results)
	for i, arm := range arms {
		l := b.palette.of(arm)
		line := plotter.XYs{}
		for _, r := range bySize(sweep.Results, arm) {
			band := b.bandOf(r)
			data.addArm(l, "", arm, count(r.Writers), interval(r.Goodput), band.String())
			if r.Goodput == nil || r.Writers < 1 || !finite(r.Goodput.Mean) {
				continue
			}
			line = append(line, plotter.XY{X: float64(r.Writers), Y: r.Goodput.Mean})
			if drawBand(p, l, beside(r.Writers, i, len(arms)), band.below(top)) {
				c.Text = banded
			}
			drawInterval(p, l, float64(r.Writers), r.Goodput)
		}
		if err := drawLine(p, l, line); err != nil {
			return chart{}, err
		}
		if len(line) > 0 {
			c.Legend = append(c.Legend, armName{arm, l})
		}
	}
	p.Y.Min, p.Y.Max = 0, top
	widen(&p.X)
	c.Data = data
	err := c.draw(p)
	return c, err
}

// banded explains the chart where it has bands.
const banded = "closed loop, mean over trials with 95 % interval. Faint bars: the model's band for each arm, in the order of the " +
	"legend beside the number of writers, cut off at the top. It is for writers that have a core each: on few cores less lands"

// beside gives the bands of several arms places of their own about a number of writers, on a logarithmic axis.
func beside(writers, i, n int) float64 {
	return float64(writers) * math.Pow(1.06, float64(i)-float64(n-1)/2)
}

// highest is the end of the axis of what was measured: the model's band may go beyond it.
func highest(all []results.Result) float64 {
	top := 0.0
	for _, r := range all {
		if r.Goodput == nil || !finite(r.Goodput.Mean) {
			continue
		}
		top = max(top, r.Goodput.Mean)
		if r.Goodput.Hi != nil && finite(*r.Goodput.Hi) {
			top = max(top, *r.Goodput.Hi)
		}
	}
	return niceMax(top)
}

// bySize gives the results of an arm in the order of their writers.
func bySize(all []results.Result, arm string) []results.Result {
	var own []results.Result
	for _, r := range all {
		if r.Arm == arm {
			own = append(own, r)
		}
	}
	slices.SortStableFunc(own, func(a, b results.Result) int { return a.Writers - b.Writers })
	return own
}

func writerTicks(all []results.Result) plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for _, r := range all {
		tick := plot.Tick{Value: float64(r.Writers), Label: strconv.Itoa(r.Writers)}
		if r.Writers > 0 && !slices.Contains(ticks, tick) {
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

func drawLine(p *plot.Plot, l look, points plotter.XYs) error {
	if len(points) == 0 {
		return nil
	}
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return fmt.Errorf("draw a chart: %w", err)
	}
	line.LineStyle, marks.GlyphStyle = l.line(), l.marker()
	p.Add(line, marks)
	return nil
}

// drawInterval draws a bar from end to end.
func drawInterval(p *plot.Plot, l look, x float64, i *results.Interval) {
	if i.Lo == nil || i.Hi == nil || !finite(*i.Lo) || !finite(*i.Hi) {
		return
	}
	bar := &plotter.Line{XYs: plotter.XYs{{X: x, Y: *i.Lo}, {X: x, Y: *i.Hi}}, LineStyle: l.line()}
	bar.Dashes, bar.Width = nil, 1
	p.Add(bar)
}

// widen gives points at the ends of a logarithmic axis room.
func widen(axis *plot.Axis) {
	if axis.Min <= 0 || axis.Max < axis.Min || !finite(axis.Min) || !finite(axis.Max) {
		axis.Min, axis.Max = 1, 10
	}
	axis.Min, axis.Max = axis.Min/1.25, axis.Max*1.25
}

// niceMax gives the end of an axis that begins at 0.
func niceMax(v float64) float64 {
	if v <= 0 || !finite(v) {
		return 1
	}
	return v * 1.08
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
