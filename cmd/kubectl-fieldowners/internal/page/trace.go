package page

import (
	"fmt"
	"io"
	"slices"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/auditlog"
)

type traceData struct {
	head
	auditlog.Report

	Writes int
	Lanes  []lane
	Arrows []arrow
	Height int
}

// lane is a line of the timeline, for one manager.
type lane struct {
	Manager string
	Y       int
}

// arrow shows a field that changed its owner: a vertical line from the lane of one manager to the lane of another one. X is
// in per cent of the width.
type arrow struct {
	X        string
	From, To int // the y of both lanes
	Title    string
}

const (
	mostLanes  = 12 // the maximum number of managers in the timeline
	laneHeight = 26
)

// Trace writes the page that shows a trace of audit logs.
func Trace(w io.Writer, about About, report auditlog.Report) error {
	d := traceData{head: head{About: about, Kicker: "Who really wrote", Title: "Trace of " + plural(report.Events, "audit event")}, Report: report}
	for _, one := range report.Writers {
		d.Writes += one.Writes
	}
	d.timeline()
	return traceTemplate.Execute(w, d)
}

// timeline computes the lanes of the managers with the most changes of owners, and an arrow for each change between them.
func (d *traceData) timeline() {
	times := map[string]int{}
	var managers []string
	for _, m := range d.Moves {
		for _, name := range []string{m.From, m.To} {
			if times[name]++; times[name] == 1 {
				managers = append(managers, name)
			}
		}
	}
	slices.SortStableFunc(managers, func(a, b string) int { return times[b] - times[a] })
	at := map[string]int{}
	for i, name := range managers[:min(len(managers), mostLanes)] {
		at[name] = i*laneHeight + laneHeight/2 + 4
		d.Lanes = append(d.Lanes, lane{name, at[name]})
	}
	d.Height = len(d.Lanes)*laneHeight + 8
	if len(d.Moves) == 0 {
		return
	}
	from, length := d.Moves[0].Time, max(d.Moves[len(d.Moves)-1].Time.Sub(d.Moves[0].Time), time.Millisecond)
	for _, m := range d.Moves {
		y, other := at[m.From], at[m.To]
		if y > 0 && other > 0 {
			x := 1 + 98*float64(m.Time.Sub(from))/float64(length)
			d.Arrows = append(d.Arrows, arrow{fmt.Sprintf("%.2f%%", x), y, other, d.Stamp(m.Time) + " " + safe(m.From) + " -> " + safe(m.To)})
		}
	}
}

// Begin and End return the times at both ends of the timeline.
func (d traceData) Begin() string { return d.Stamp(d.Moves[0].Time) }
func (d traceData) End() string   { return d.Stamp(d.Moves[len(d.Moves)-1].Time) }

// Hidden returns the number of changes of owners that the timeline does not show.
func (d traceData) Hidden() (n int) {
	for _, one := range d.Taken {
		n += one.Times
	}
	return n - len(d.Arrows)
}
