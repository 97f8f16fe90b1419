package report

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"coapply.dev/compare/results"
)

// band is the closed-form band of a cell; nil without one.
type band struct{ lo, hi float64 }

// String is for the table beside the chart.
func (b *band) String() string {
	switch {
	case b == nil:
		return na
	case b.lo >= b.hi: // of writers that do not race
		return "–"
	}
	return "[" + number(b.lo) + ", " + number(b.hi) + "]"
}

// below cuts off what is above an axis; nil if that is all of it.
func (b *band) below(top float64) *band {
	if b == nil || b.lo >= top {
		return nil
	}
	return &band{b.lo, min(b.hi, top)}
}

// bandOf finds what the model says of a result. The model names no workload, so the goodput that it was shown has to be
// that of the result.
func (b *builder) bandOf(r results.Result) *band {
	if b.results.Model == nil || r.Goodput == nil || r.Rate != 0 {
		return nil
	}
	for _, c := range slices.Concat(b.results.Model.Fitted, b.results.Model.Checked) {
		same := c.Arm == r.Arm && c.Writers == r.Writers && c.Managers == r.Managers && math.Abs(c.RTTms-r.RTTms) < 1e-6
		if same && math.Abs(c.Measured-r.Goodput.Mean) <= 0.01*r.Goodput.Mean && finite(c.BandLo) && finite(c.BandHi) {
			return &band{c.BandLo, c.BandHi}
		}
	}
	return nil
}

// drawBand draws it as a faint bar behind the points; false if there is none.
func drawBand(p *plot.Plot, l look, x float64, band *band) bool {
	if band == nil || band.lo >= band.hi {
		return false
	}
	bar := &plotter.Line{XYs: plotter.XYs{{X: x, Y: band.lo}, {X: x, Y: band.hi}}, LineStyle: l.line()}
	bar.Color, bar.Width, bar.Dashes = l.faint(), 4, nil
	p.Add(bar)
	return true
}

// modelSection is the model as the page shows it.
type modelSection struct {
	Facts           []fact
	Parameters      table
	Fitted, Checked table
	Extrapolation   table
	Charts          []chart
}

func (b *builder) model() (*modelSection, error) {
	m := b.results.Model
	if m == nil {
		return nil, nil //nolint:nilnil // a run without a model has no section
	}
	section := &modelSection{
		Facts: []fact{
			{"error of goodput in cells it had not seen, median", percent(m.MedianError)},
			{"the worst", percent(m.WorstError)},
			{"accepted", acceptedArms(m)},
		},
		Parameters: b.parameters(m), Fitted: b.modelCells(m.Fitted), Checked: b.modelCells(m.Checked),
		Extrapolation: b.extrapolation(m),
	}
	if m.ExtrapolatedManagers > 0 {
		section.Facts = append(section.Facts, fact{"field managers in the extrapolation", strconv.Itoa(m.ExtrapolatedManagers)})
	}
	if m.Why != "" {
		section.Facts = append(section.Facts, fact{"why", cut(m.Why)})
	}
	var err error
	section.Charts, err = b.extrapolationCharts(m)
	return section, err
}

// acceptedArms names them: each is accepted, or not, by itself.
func acceptedArms(m *results.Model) string {
	var arms []string
	for _, arm := range sortedKeys(m.Arms) {
		if m.Arms[arm].Accepted {
			arms = append(arms, arm)
		}
	}
	switch {
	case !m.Accepted:
		return "no"
	case len(arms) == 0:
		return "yes"
	}
	return strings.Join(arms, ", ")
}

func (b *builder) parameters(m *results.Model) table {
	var names []string
	for _, arm := range sortedKeys(m.Parameters) {
		names = append(names, sortedKeys(m.Parameters[arm])...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	head := []string{"arm", "accepted", "#median error", "#worst error"}
	for _, name := range names {
		head = append(head, "#"+name)
	}
	t := table{Columns: columns(head...)}
	for _, arm := range sortedKeys(m.Parameters) {
		judged, accepted := m.Arms[arm], "no"
		if judged.Accepted {
			accepted = "yes"
		}
		cells := []string{arm, accepted, percent(judged.MedianError), percent(judged.WorstError)}
		for _, name := range names {
			v, has := m.Parameters[arm][name]
			if !has {
				cells = append(cells, na)
				continue
			}
			cells = append(cells, number(v))
		}
		t.addArm(b.palette.of(arm), "", cells...)
	}
	return t
}

func (b *builder) modelCells(cells []results.ModelCell) table {
	t := table{Columns: columns("arm", "#writers", "#managers", "#round trip ms", "#measured /s", "#predicted /s", "#error",
		"#attempts lost, measured", "#predicted", "#given up, measured", "#predicted", "band /s", "~not counted")}
	for _, c := range cells {
		t.addArm(b.palette.of(c.Arm), "", c.Arm, strconv.Itoa(c.Writers), strconv.Itoa(c.Managers), exact(c.RTTms), number(c.Measured), number(c.Goodput),
			signed(c.Error), percent(c.MeasuredStale), percent(&c.Stale), percent(&c.MeasuredGiveUps), percent(&c.GiveUps), (&band{c.BandLo, c.BandHi}).String(), c.Outside)
	}
	return t
}

func (b *builder) extrapolation(m *results.Model) table {
	t := table{Columns: columns("arm", "#writers", "#round trip ms", "#predicted /s", "band /s", "#attempts lost", "#given up")}
	if !m.Accepted {
		return t
	}
	for _, p := range m.Extrapolation {
		t.addArm(b.palette.of(p.Arm), "", p.Arm, count(p.Writers), exact(p.RTTms), number(p.Goodput), (&band{p.BandLo, p.BandHi}).String(), percent(&p.Stale), percent(&p.GiveUps))
	}
	return t
}

// extrapolationCharts draws one for each round trip.
func (b *builder) extrapolationCharts(m *results.Model) ([]chart, error) {
	var charts []chart
	var trips []float64
	for _, p := range m.Extrapolation {
		trips = append(trips, p.RTTms)
	}
	slices.Sort(trips)
	for _, rtt := range slices.Compact(trips) {
		if !m.Accepted {
			break
		}
		c, err := b.extrapolationChart(m, rtt)
		if err != nil {
			return nil, err
		}
		charts = append(charts, c)
	}
	return charts, nil
}

func (b *builder) extrapolationChart(m *results.Model, rtt float64) (chart, error) {
	p := newPlot("writers", "intents per second, predicted")
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	c := b.newChart("Predicted goodput, round trip +"+exact(rtt)+" ms", "By the model alone: nothing of it was measured.")
	by := map[string]plotter.XYs{}
	var arms []string
	for _, point := range m.Extrapolation {
		if point.RTTms != rtt || point.Writers < 1 || !finite(point.Goodput) {
			continue
		}
		if by[point.Arm] == nil {
			arms = append(arms, point.Arm)
		}
		by[point.Arm] = append(by[point.Arm], plotter.XY{X: float64(point.Writers), Y: point.Goodput})
	}
	for _, arm := range arms {
		l := b.palette.of(arm)
		slices.SortFunc(by[arm], func(x, y plotter.XY) int { return int(x.X - y.X) })
		if err := drawLine(p, l, by[arm]); err != nil {
			return chart{}, err
		}
		c.Legend = append(c.Legend, armName{arm, l})
	}
	p.Y.Min, p.Y.Max = 0, niceMax(p.Y.Max)
	widen(&p.X)
	err := c.draw(p)
	return c, err
}
