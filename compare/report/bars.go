package report

import (
	"fmt"

	"coapply.dev/compare/results"
)

// bars is a table whose rows have a bar: a chart that is read aloud and fits a phone as it is.
type bars struct {
	Title, Unit, Note string
	Rows              []barRow
	Legend            []segment // of what the bars consist; nil for one thing
}

type barRow struct {
	Arm      armName
	Segments []segment
	Whisker  *whisker
	Text     string
}

// segment is a part of a bar, in hundredths of the widest.
type segment struct {
	from, width float64
	Class, Name string
}

// X gives where it begins.
func (s segment) X() string { return hundredths(s.from) }

// Width gives how wide it is.
func (s segment) Width() string { return hundredths(s.width) }

// whisker is a 95 % interval, in hundredths of the widest bar.
type whisker struct{ lo, hi float64 }

// Lo gives its left end.
func (w whisker) Lo() string { return hundredths(w.lo) }

// Hi gives its right end.
func (w whisker) Hi() string { return hundredths(w.hi) }

func hundredths(v float64) string { return fmt.Sprintf("%.2f%%", min(max(v, 0), 100)) }

// part is a measured piece of a bar.
type part struct {
	value *float64
	class string
}

// barOf puts parts side by side. What was not measured has no length; its row says so in words.
func barOf(widest float64, parts ...part) []segment {
	var segments []segment
	at := 0.0
	for _, p := range parts {
		if p.value == nil || *p.value <= 0 || !finite(*p.value) || widest <= 0 {
			continue
		}
		width := 100 * *p.value / widest
		segments = append(segments, segment{from: at, width: width, Class: p.class})
		at += width
	}
	return segments
}

// intervalBars shows one measure of the arms in one cell, with its intervals.
func (b *builder) intervalBars(cell *cellGroup, title, unit string, of func(results.Result) *results.Interval) bars {
	chart := bars{Title: title, Unit: unit}
	widest := 0.0
	for _, r := range cell.Results {
		if i := of(r); i != nil {
			widest = max(widest, orZero(&i.Mean), orZero(i.Hi))
		}
	}
	for _, r := range cell.Results {
		i := of(r)
		row := barRow{Arm: armName{r.Arm, b.palette.of(r.Arm)}, Text: interval(i)}
		if i != nil {
			row.Segments = barOf(widest, part{&i.Mean, row.Arm.Look.Class()})
			row.Whisker = whiskerOf(i, widest)
		}
		chart.Rows = append(chart.Rows, row)
	}
	return chart
}

func goodput(r results.Result) *results.Interval      { return r.Goodput }
func apiserverCPU(r results.Result) *results.Interval { return r.APIServerCPU }

func whiskerOf(i *results.Interval, widest float64) *whisker {
	if i.Lo == nil || i.Hi == nil || widest <= 0 || !finite(*i.Lo) || !finite(*i.Hi) {
		return nil
	}
	return &whisker{100 * *i.Lo / widest, 100 * *i.Hi / widest}
}

// attemptBars shows how often a write was tried for one intent that landed, by the client and inside the server.
func (b *builder) attemptBars(cell *cellGroup) bars {
	chart := bars{
		Title: "Attempts per intent", Unit: "for each that landed: writes that the client sent + etcd transactions that failed",
		Legend: []segment{{Class: "k-client", Name: "writes sent by the client"}, {Class: "k-server", Name: "transactions that failed inside the server"}},
	}
	widest := 0.0
	for _, r := range cell.Results {
		widest = max(widest, orZero(writesPerIntent(r))+orZero(r.FailedTransactions))
	}
	for _, r := range cell.Results {
		writes := writesPerIntent(r)
		chart.Rows = append(chart.Rows, barRow{
			Arm:      armName{r.Arm, b.palette.of(r.Arm)},
			Segments: barOf(widest, part{writes, "k-client"}, part{r.FailedTransactions, "k-server"}),
			Text:     maybe(writes) + " + " + maybe(r.FailedTransactions),
		})
	}
	return chart
}

// requestBars shows all requests, reads included.
func (b *builder) requestBars(cell *cellGroup) bars {
	chart := bars{Title: "Requests per intent", Unit: "of any kind, for each intent that landed"}
	widest := 0.0
	for _, r := range cell.Results {
		widest = max(widest, orZero(r.RequestsPerIntent))
	}
	for _, r := range cell.Results {
		arm := armName{r.Arm, b.palette.of(r.Arm)}
		chart.Rows = append(chart.Rows, barRow{
			Arm: arm, Segments: barOf(widest, part{r.RequestsPerIntent, arm.Look.Class()}), Text: maybe(r.RequestsPerIntent),
		})
	}
	return chart
}

// writesPerIntent is the requests that write, whatever was answered; nil if no requests were counted.
func writesPerIntent(r results.Result) *float64 {
	if r.Verbs == nil {
		return nil
	}
	writes := 0.0
	for _, name := range sortedKeys(r.Verbs) { // sums of floats depend on their order
		if !isRead(name) {
			writes += r.Verbs[name]
		}
	}
	return &writes
}

// orZero is for the length of a bar only.
func orZero(v *float64) float64 {
	if v == nil || !finite(*v) {
		return 0
	}
	return *v
}
