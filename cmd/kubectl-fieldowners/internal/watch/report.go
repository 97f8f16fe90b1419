package watch

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// reporter prints the changes that several watches see, one after another.
type reporter struct {
	out, errOut io.Writer
	json        bool
	path        fieldowners.Path
	managers    []string
	onlyFights  bool
	bySelector  bool // objects may enter and leave the selection

	mu     sync.Mutex
	fights *fights.Detector
	fought bool
	failed bool            // something could not be read
	told   map[string]bool // what was reported of that
	behind []error         // errors of watches that were interrupted at the end
}

// fightsPerMinute is how often a field may go from one manager to another one without a fight.
const fightsPerMinute = 5

// newReporter returns a reporter for which more moves of a field in a minute are a fight.
func newReporter(perMinute int, out, errOut io.Writer) (*reporter, error) {
	detector, err := fights.New(perMinute)
	return &reporter{out: out, errOut: errOut, fights: detector, told: map[string]bool{}}, err
}

// step prints what became of one object.
func (r *reporter) step(s change) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var events []Event
	for _, part := range s.parts() {
		switch {
		case part.before != nil && part.after != nil:
			events = append(events, r.changed(part)...)
		case part.after != nil:
			events = append(events, r.whole(part, part.after, "created", "entered")...)
		case part.before != nil:
			events = append(events, r.whole(part, part.before, "deleted", "left")...)
		}
	}
	return r.print(events)
}

func (r *reporter) changed(s change) []Event {
	d := fieldowners.Diff(s.before.ownership, s.after.ownership)
	writers := fieldowners.Writers(s.before.ownership, s.after.ownership)
	s.at = s.written(writers)
	var events []Event
	if !r.onlyFights {
		events = slices.DeleteFunc(s.moves(d), func(e Event) bool { return !r.asksFor(e) })
	}
	var alarms []Event
	for _, fight := range r.fights.Observe(string(s.after.uid), s.before.ownership, s.after.ownership, s.at) {
		alarms = append(alarms, s.fight(fight))
	}
	if loop, is := r.wrote(s, writers); is {
		alarms = append(alarms, s.loop(loop))
	}
	alarms = slices.DeleteFunc(alarms, func(e Event) bool { return !r.asksFor(e) })
	r.fought = r.fought || len(alarms) > 0
	return append(events, alarms...)
}

// whole returns the event of an object that has come or gone, by itself or by the selectors.
func (r *reporter) whole(s change, w *watched, kind, bySelector string) []Event {
	if r.bySelector {
		kind = bySelector
	}
	e, owners := s.event(kind), w.owners(r.asks)
	if r.onlyFights || r.narrowed() && len(owners) == 0 {
		return nil
	}
	if s.after != nil {
		e.Managers = owners
	}
	return []Event{e}
}

func (r *reporter) narrowed() bool { return !r.path.IsRoot() || len(r.managers) > 0 }

func (r *reporter) asks(m fieldowners.Manager, path fieldowners.Path) bool {
	return path.HasPrefix(r.path) && (len(r.managers) == 0 || slices.Contains(r.managers, m.Name))
}

func (r *reporter) asksFor(e Event) bool {
	all := e.Managers
	for _, m := range []*view.OwnerItem{e.From, e.To} {
		if m != nil {
			all = append(all, *m)
		}
	}
	return slices.ContainsFunc(all, func(m view.OwnerItem) bool {
		return r.asks(fieldowners.Manager{Name: m.Name}, e.Field)
	})
}

// interrupted reports that the changes between two versions are known only in sum.
func (r *reporter) interrupted(t Target, from string, since time.Time, to string, now time.Time) error {
	r.say("%s: the watch was interrupted: the API server has forgotten what came after resourceVersion %s (%s); up to %s (%s) the sum of it is shown",
		t, from, since.UTC().Format(time.RFC3339), to, now.UTC().Format(time.RFC3339))
	if !r.json {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.print([]Event{{
		Time: now.UTC(), Type: "interrupted", APIVersion: t.Kind.GroupVersion().String(), Kind: t.Kind.Kind,
		Namespace: t.Namespace, Name: t.Name, FromResourceVersion: from, ResourceVersion: to, Since: new(since.UTC()),
	}})
}

// say prints a sentence about the watch itself.
func (r *reporter) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.errOut, view.Safe(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")))
}

// unread prints, once, what cannot be read of an object.
func (r *reporter) unread(object string, err error) {
	text := fmt.Sprintf("error: %s: %s", object, view.Safe(err.Error()))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = true
	if !r.told[text] {
		r.told[text] = true
		fmt.Fprintln(r.errOut, text)
	}
}

// result returns the error with which the command ends when its time is over. A watch that is
// interrupted at the end is an error.
func (r *reporter) result() error {
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

func (r *reporter) print(events []Event) error {
	var lines strings.Builder
	for _, e := range events {
		if !r.json {
			lines.WriteString(e.text())
			lines.WriteByte('\n')
			continue
		}
		line, err := view.JSON(e)
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

// wrote returns a loop to report. Writes to statuses are not counted, as a controller answers each
// change of its object with one, nor are changes by several managers, which have no order.
func (r *reporter) wrote(s change, writers []fieldowners.Manager) (fights.Loop, bool) {
	writers = slices.DeleteFunc(slices.Clone(writers), func(m fieldowners.Manager) bool { return m.Subresource == "status" })
	if len(writers) != 1 || s.sum {
		return fights.Loop{}, false
	}
	return r.fights.Wrote(string(s.after.uid), writers[0], s.at)
}
