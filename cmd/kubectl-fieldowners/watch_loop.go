package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/fights"
)

const (
	// turnsPerMinute is how many writes of two managers, in turn, are a loop.
	turnsPerMinute = 20
	// answerWithin is in what time a manager that answers another one writes. The server
	// records times in seconds.
	answerWithin = 2 * time.Second
)

func newLoops() (*fights.Loops[fieldowners.Manager], error) {
	return fights.NewLoops[fieldowners.Manager](turnsPerMinute, answerWithin)
}

// wrote gives the loops to tell of. Statuses are not counted: a controller answers each change
// of its object with one. Nor is what several managers wrote in one step, which has no
// order. Two that fight for a field write in turn too, and were told of.
func (r *watchReport) wrote(s watchStep, writers []fieldowners.Manager) []fights.Loop[fieldowners.Manager] {
	writers = slices.DeleteFunc(slices.Clone(writers), func(m fieldowners.Manager) bool { return m.Subresource == "status" })
	if len(writers) != 1 || s.sum {
		return nil
	}
	object, m := string(s.after.uid), writers[0]
	loops := r.loops.Wrote(object, m.Name, m, s.at)
	return slices.DeleteFunc(loops, func(l fights.Loop[fieldowners.Manager]) bool {
		return !l.News || slices.ContainsFunc(r.fights.Active(s.at), func(f fights.Fight) bool {
			return f.Object == object && f.A.Name == l.A && f.B.Name == l.B
		})
	})
}

func (s watchStep) loop(l fights.Loop[fieldowners.Manager]) watchEvent {
	e := s.event("loop")
	var texts []string
	for _, m := range []fieldowners.Manager{l.InA, l.InB} {
		fields := s.after.fieldsOf(m)
		e.Managers = append(e.Managers, ownerview.Owner(m))
		e.Fields = append(e.Fields, fields)
		texts = append(texts, ownerview.Owner(m).String()+" ("+ownerview.Safe(strings.Join(fields, ", "))+")")
	}
	e.Times = l.Times
	e.message = fmt.Sprintf("%s wrote in turn %d times in a minute and took nothing from each other: each may answer the other",
		strings.Join(texts, " and "), l.Times)
	return e
}

// fieldsOf lists a few fields that a manager owns: managed fields do not record which of them
// it wrote last.
func (w watched) fieldsOf(m fieldowners.Manager) []string {
	const shown = 3
	fields := []string{}
	for _, entry := range w.ownership.Entries() {
		if ownerview.Owner(entry.Manager) != ownerview.Owner(m) {
			continue
		}
		for _, path := range entry.Leaves() {
			if len(fields) == shown {
				return append(fields, "...")
			}
			fields = append(fields, path.String())
		}
	}
	return fields
}
