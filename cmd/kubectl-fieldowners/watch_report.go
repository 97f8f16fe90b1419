package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/fights"
)

// watchReport prints what several watches see, one step after another.
type watchReport struct {
	out, errOut io.Writer
	json        bool
	path        fieldowners.Path
	managers    []string
	onlyFights  bool
	bySelector  bool // objects enter and leave

	mu     sync.Mutex
	fights *fights.Detector
	loops  *fights.Loops[fieldowners.Manager]
	found  func(watchEvent) // nil: events are printed
	fought bool
	failed bool            // to read something
	told   map[string]bool // what that was
	behind []error         // at the end
}

// step prints what became of one object.
func (r *watchReport) step(s watchStep) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []watchEvent
	for _, part := range s.parts() {
		switch {
		case part.before != nil && part.after != nil:
			events = append(events, r.changed(part)...)
		case part.after != nil:
			events = append(events, r.came(part)...)
		case part.before != nil:
			events = append(events, r.went(part)...)
		}
	}
	return r.print(events)
}

func (r *watchReport) changed(s watchStep) []watchEvent {
	d := fieldowners.Diff(s.before.ownership, s.after.ownership)
	writers := fieldowners.Writers(s.before.ownership, s.after.ownership)
	s.at = s.written(writers)
	var events []watchEvent
	if !r.onlyFights {
		events = slices.DeleteFunc(s.moves(d), func(e watchEvent) bool { return !r.asksFor(e) })
	}
	for _, fight := range r.fights.ObserveWrite(string(s.after.uid), s.before.ownership, s.after.ownership, s.at) {
		if e := s.fight(fight); r.asksFor(e) {
			events = append(events, e)
			r.fought = true
		}
	}
	for _, loop := range r.wrote(s, writers) {
		if e := s.loop(loop); r.asksFor(e) {
			events = append(events, e)
			r.fought = true
		}
	}
	return events
}

func (r *watchReport) came(s watchStep) []watchEvent {
	e := s.event("created")
	if r.bySelector {
		e.Type = "entered"
	}
	e.Managers = s.after.owners(r.asks)
	if r.onlyFights || r.narrowed() && len(e.Managers) == 0 {
		return nil
	}
	return []watchEvent{e}
}

func (r *watchReport) went(s watchStep) []watchEvent {
	r.fights.Forget(string(s.before.uid))
	r.loops.Forget(string(s.before.uid))
	e := s.event("deleted")
	if r.bySelector {
		e.Type = "left"
	}
	if r.onlyFights || r.narrowed() && len(s.before.owners(r.asks)) == 0 {
		return nil
	}
	return []watchEvent{e}
}

func (r *watchReport) narrowed() bool { return !r.path.IsRoot() || len(r.managers) > 0 }

func (r *watchReport) asks(m fieldowners.Manager, path fieldowners.Path) bool {
	return path.HasPrefix(r.path) && (len(r.managers) == 0 || slices.Contains(r.managers, m.Name))
}

func (r *watchReport) asksFor(e watchEvent) bool {
	all := e.Managers
	for _, m := range []*ownerview.OwnerItem{e.From, e.To} {
		if m != nil {
			all = append(all, *m)
		}
	}
	return slices.ContainsFunc(all, func(m ownerview.OwnerItem) bool {
		return r.asks(fieldowners.Manager{Name: m.Name}, e.path)
	})
}

// interrupted says that what happened between two versions is known as a sum only.
func (r *watchReport) interrupted(t watchTarget, from string, since time.Time, to string, now time.Time) error {
	r.say("%s: the watch was interrupted: the API server has forgotten what came after resourceVersion %s (%s); up to %s (%s) the sum of it is shown",
		t, from, since.UTC().Format(time.RFC3339), to, now.UTC().Format(time.RFC3339))
	if !r.json {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.print([]watchEvent{{
		Time: now.UTC(), Type: "interrupted", APIVersion: t.kind.GroupVersion().String(), Kind: t.kind.Kind,
		Namespace: t.namespace, Name: t.name, FromResourceVersion: from, ResourceVersion: to, Since: new(since.UTC()),
	}})
}

// say prints a line about the watch itself.
func (r *watchReport) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.errOut, ownerview.Safe(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")))
}

// unread says once what cannot be read of an object.
func (r *watchReport) unread(object string, err error) {
	text := fmt.Sprintf("error: %s: %s", object, ownerview.Safe(err.Error()))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	if r.told == nil {
		r.told = map[string]bool{}
	}
	if !r.told[text] {
		r.told[text] = true
		fmt.Fprintln(r.errOut, text)
	}
}

// ended takes why a watch that has ended was seeing nothing.
func (r *watchReport) ended(behind error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if behind != nil {
		r.behind = append(r.behind, behind)
	}
}

// result is how the command ends when its time is over. That nothing was found is
// not said of a watch that saw nothing at the end.
func (r *watchReport) result() error {
	for _, err := range r.behind {
		fmt.Fprintln(r.errOut, console.OneLine(err))
	}
	switch {
	case r.failed || len(r.behind) > 0:
		return console.ErrSaid
	case r.fought:
		return console.ErrFound
	}
	return nil
}

func (r *watchReport) print(events []watchEvent) error {
	if r.found != nil {
		for _, e := range events {
			r.found(e)
		}
		return nil
	}
	var lines strings.Builder
	for _, e := range events {
		if !r.json {
			lines.WriteString(e.text())
			lines.WriteByte('\n')
			continue
		}
		line, err := ownerview.JSON(e)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	if _, err := io.WriteString(r.out, lines.String()); err != nil {
		return errors.Join(errors.New("what was seen cannot be printed"), err)
	}
	return nil
}
