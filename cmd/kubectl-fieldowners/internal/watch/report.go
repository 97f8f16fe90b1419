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

// reporter prints the changes that several concurrent watches observe.
type reporter struct {
	out, errOut io.Writer
	json        bool
	path        fieldowners.Path
	managers    []string
	onlyFights  bool
	bySelector  bool // the command line has a selector, so existing objects may begin or cease to match

	mu     sync.Mutex
	fights *fights.Detector
	fought bool            // a fight or loop was printed
	failed bool            // a managed-fields entry could not be read
	told   map[string]bool // the errors about unreadable entries that were printed
	behind []error         // the errors of watches that were still interrupted when the command ended
}

// fightsPerMinute is the default of --fights-per-minute: the number of changes of a field per minute above which watch
// may report a fight (see fights.New).
const fightsPerMinute = 5

// newReporter returns a reporter that reports fights and loops. perMinute is the limit for a fight (see fights.New).
func newReporter(perMinute int, out, errOut io.Writer) (*reporter, error) {
	detector, err := fights.New(perMinute)
	return &reporter{out: out, errOut: errOut, fights: detector, told: map[string]bool{}}, err
}

// step prints the events for a change of one object.
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

// whole returns the event for an object that appeared or disappeared. The type of the event is kind, such as "created".
// If the command line has a selector, the type is bySelector, such as "entered", because an existing object may start
// or stop matching the selector. The argument w is the state of the object after it appeared or before it disappeared.
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

// asks reports whether the flags --path and --manager select a field at path that the manager m owns.
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

// interrupted prints that the watch was interrupted. The follower has seen only the combined changes between the two
// given resourceVersions.
func (r *reporter) interrupted(t Target, from string, since time.Time, to string, now time.Time) error {
	r.say("%s: the watch was interrupted: the API server no longer has the changes after resourceVersion %s (%s); the changes up to resourceVersion %s (%s) are shown combined",
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

// say prints a message about the state of the watch on stderr.
func (r *reporter) say(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintln(r.errOut, view.Safe(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")))
}

// unread prints an error about a managed-fields entry that could not be read. It prints each message only once.
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

// result returns the error with which the command ends after --timeout. It returns ErrSaid if a watch is still
// interrupted or an entry could not be read. Otherwise, it returns ErrFound if there was a fight or a loop.
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
		return errors.Join(errors.New("the changes cannot be printed"), err)
	}
	return nil
}

// wrote counts a write for the detection of loops. If a loop must be reported now, wrote returns the loop and true.
// It ignores writes to the status, because a controller writes the status after each change of its object. It also
// ignores changes by several managers, because the order of their writes is unknown.
func (r *reporter) wrote(s change, writers []fieldowners.Manager) (fights.Loop, bool) {
	writers = slices.DeleteFunc(slices.Clone(writers), func(m fieldowners.Manager) bool { return m.Subresource == "status" })
	if len(writers) != 1 || s.sum {
		return fights.Loop{}, false
	}
	return r.fights.Wrote(string(s.after.uid), writers[0], s.at)
}
