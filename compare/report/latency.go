package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"coapply.dev/compare/results"
)

// slo is the bound that Kubernetes sets its own API for one object, in milliseconds; it is drawn for scale.
const slo = 1000

// maxPoints is how many points a curve has: more are not seen at the size of a chart.
const maxPoints = 120

// latencyChart draws for every arm of a cell which share of its intents had landed after so long. A curve that ends
// below 1 shows what was given up.
func (b *builder) latencyChart(cell *cellGroup) (chart, error) {
	p := newPlot("milliseconds until the intent landed", "share of intents")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: .25, Label: ".25"}, {Value: .5, Label: ".5"}, {Value: .75, Label: ".75"}, {Value: 1, Label: "1"}}
	c := b.newChart("Latency, "+cell.Key.Loop(), latencyText(cell.Key))
	p.X.Min, p.X.Max = slo, slo
	var curves [][]results.Point
	for _, r := range cell.Results {
		curve, err := b.curve(cell.Key, r.Arm)
		if err != nil {
			return chart{}, err
		}
		curves = append(curves, curve)
		for _, point := range curve {
			p.X.Min, p.X.Max = min(p.X.Min, point.Ms), max(p.X.Max, point.Ms)
		}
	}
	widen(&p.X)
	p.Y.Min, p.Y.Max = 0, 1
	p.Add(bound(p))
	for i, r := range cell.Results {
		l := b.palette.of(r.Arm)
		if points := steps(curves[i], p.X.Max); len(points) > 0 {
			c.Legend = append(c.Legend, armName{r.Arm, l})
			p.Add(&plotter.Line{XYs: points, LineStyle: l.line()})
		}
	}
	c.Data = b.percentiles(cell)
	err := c.draw(p)
	return c, err
}

func latencyText(k cellKey) string {
	from := "Timed from when the writer took the intent, retries included."
	if k.Rate > 0 {
		from = "Timed from when the intent was to begin, retries and queueing included."
	}
	return from + " A curve that ends below 1 has given up the rest. The dashed line is at 1 s."
}

// curve puts the trials of an arm in a cell together.
func (b *builder) curve(key cellKey, arm string) ([]results.Point, error) {
	var latencies []results.Latency
	for _, t := range b.trials {
		if t.Void == "" && !t.AA && t.Arm == arm && keyOfTrial(t) == key {
			latencies = append(latencies, t.Latency)
		}
	}
	distribution, err := results.Merge(latencies...)
	if err != nil {
		return nil, fmt.Errorf("%s in %s: %w", arm, key, err)
	}
	return distribution.Curve(), nil
}

// steps thins a curve out, draws it as stairs, and goes on to the end of the axis.
func steps(curve []results.Point, end float64) plotter.XYs {
	var points plotter.XYs
	last := 0.0
	for i, point := range curve {
		if point.Ms <= 0 || point.Share-last < 1.0/maxPoints && i < len(curve)-1 {
			continue
		}
		points = append(points, plotter.XY{X: point.Ms, Y: last}, plotter.XY{X: point.Ms, Y: point.Share})
		last = point.Share
	}
	if len(points) == 0 {
		return nil
	}
	return append(points, plotter.XY{X: end, Y: last})
}

// bound is the line of the service level objective.
func bound(p *plot.Plot) plot.Plotter {
	return &plotter.Line{
		XYs:       plotter.XYs{{X: slo, Y: p.Y.Min}, {X: slo, Y: p.Y.Max}},
		LineStyle: draw.LineStyle{Color: alertColour, Width: 1, Dashes: []vg.Length{3, 3}},
	}
}

// decades are the ticks of a logarithmic axis: 1, 10, 100, and marks at 2 and 5 of each.
type decades struct{}

// Ticks implements plot.Ticker.
func (decades) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(lo)); math.Pow(10, e) <= hi; e++ {
		for _, step := range []float64{1, 2, 5} {
			tick := plot.Tick{Value: step * math.Pow(10, e)}
			if step == 1 || hi/lo < 30 {
				tick.Label = number(tick.Value)
				if tick.Value >= 1 {
					tick.Label = count(int(math.Round(tick.Value)))
				}
			}
			if tick.Value >= lo && tick.Value <= hi {
				ticks = append(ticks, tick)
			}
		}
	}
	return ticks
}

// percentiles is the table beside the chart, of both clocks where they differ: in a closed loop the arm is called at once.
func (b *builder) percentiles(cell *cellGroup) table {
	differ := slices.ContainsFunc(cell.Results, func(r results.Result) bool {
		return !slices.Equal(percentileCells(r.Latency), percentileCells(r.Service))
	})
	t := table{Title: "Latency in milliseconds", Columns: columns("arm", "#p50", "#p95", "#p99", "#max landed", "#given up")}
	if differ {
		t.Columns = slices.Insert(t.Columns, 5, columns("#in the arm: p50", "#p95", "#p99", "#max")...)
	}
	for _, r := range cell.Results {
		cells := append([]string{r.Arm}, percentileCells(r.Latency)...)
		if differ {
			cells = append(cells, percentileCells(r.Service)...)
		}
		t.addArm(b.palette.of(r.Arm), "", append(cells, percent(r.GiveUpShare))...)
	}
	return t
}

// percentileCells says "none" where the percentile falls among intents that never landed.
func percentileCells(p results.Percentiles) []string {
	var cells []string
	for _, v := range []*float64{p.P50, p.P95, p.P99} {
		switch {
		case v == nil && p.Max != nil:
			cells = append(cells, "never")
		default:
			cells = append(cells, maybe(v))
		}
	}
	return append(cells, maybe(p.Max))
}
