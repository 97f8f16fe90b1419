package report

import (
	"strconv"

	"gonum.org/v1/plot"

	"coapply.dev/compare/results"
)

// builder makes the parts of a report from its data.
type builder struct {
	run     results.Run
	trials  []results.Trial
	results results.Results
	palette palette
	charts  int // that have an ID
}

func newBuilder(run results.Run, trials []results.Trial, r results.Results) *builder {
	return &builder{run: run, trials: trials, results: r, palette: newPalette(run, r.Cells)}
}

// armName is an arm with how it looks.
type armName struct {
	Name string
	Look look
}

func (b *builder) nextID() string {
	b.charts++
	return "chart-" + strconv.Itoa(b.charts)
}

func (b *builder) newChart(title, text string) chart {
	return chart{ID: b.nextID(), Title: title, Text: text, Width: float64(chartWidth), Height: float64(chartHeight)}
}

// draw puts the plot into the chart. A plot without any point has axes of no length, which gonum cannot draw.
func (c *chart) draw(p *plot.Plot) (err error) {
	if len(c.Legend) == 0 || !finite(p.X.Min) || !finite(p.X.Max) || p.X.Min >= p.X.Max {
		return nil
	}
	c.SVG, err = inline(p)
	return err
}

// baseline gives what a cell is compared with; "" where nothing is.
func (b *builder) baseline(key cellKey) string {
	for _, planned := range b.run.Plan {
		if nameOnly(planned.Cell) == key.Cell {
			return planned.Baseline
		}
	}
	return ""
}

// comparison gives the paired ratio of an arm's goodput in a cell.
func (b *builder) comparison(key cellKey, arm string) (results.Comparison, bool) {
	for _, c := range b.results.Comparisons {
		if !c.AA && c.Arm == arm && c.Measure == "goodput" && c.Cell == key.String() {
			return c, true
		}
	}
	return results.Comparison{}, false
}
