package watch

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

// change contains two consecutive states of one object, as seen by a follower.
type change struct {
	target        Target
	before, after *watched  // nil if the object did not exist before or after the change
	at            time.Time // when the follower saw the change
	sum           bool      // several changes may be combined into one, because the watch was interrupted
}

// Event is one event that the watch command prints, either as a line of text or as JSON.
type Event struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`          // such as moved, lost, gained, created, deleted or fight
	Sum  bool      `json:"sum,omitempty"` // several changes may be combined into one, because the watch was interrupted

	APIVersion          string `json:"apiVersion"`
	Kind                string `json:"kind"`
	Namespace           string `json:"namespace,omitempty"`
	Name                string `json:"name,omitempty"`
	UID                 string `json:"uid,omitempty"`
	FromResourceVersion string `json:"fromResourceVersion,omitempty"` // for an interruption: the last resourceVersion seen before it
	ResourceVersion     string `json:"resourceVersion,omitempty"`

	Path       string           `json:"path,omitempty"`
	ServerPath string           `json:"serverPath,omitempty"`
	From       *view.OwnerItem  `json:"from,omitempty"`     // the manager that lost the field, if any
	To         *view.OwnerItem  `json:"to,omitempty"`       // the manager that gained the field, if any
	Managers   []view.OwnerItem `json:"managers,omitempty"` // the managers of a fight or loop, or the owners of an object

	Times int        `json:"times,omitempty"` // for a fight or loop: the number of acts or turns in the last minute (see package fights)
	Since *time.Time `json:"since,omitempty"` // when the fight or the interruption began

	Field   fieldowners.Path `json:"-"`
	Message string           `json:"-"` // for a fight or loop: which managers do what, and how often
	object  string           // the object's kind, namespace and name, for text output
}

// parts splits a change into a deletion and a creation if the object was deleted and another object was
// created under the same name. It returns any other change unsplit.
func (s change) parts() []change {
	if s.before == nil || s.after == nil || s.before.uid == s.after.uid {
		return []change{s}
	}
	gone, come := s, s
	gone.after, come.before = nil, nil
	return []change{gone, come}
}

// event returns an event of the given type. It sets the members that all events about the same change share.
func (s change) event(kind string) Event {
	w := s.after
	if w == nil {
		w = s.before
	}
	return Event{
		Time: s.at.UTC(), Type: kind, Sum: s.sum,
		APIVersion: s.target.Kind.GroupVersion().String(), Kind: s.target.Kind.Kind,
		Namespace: w.namespace, Name: w.name, UID: string(w.uid), ResourceVersion: w.version,
		object: s.target.object(*w),
	}
}

// at returns a copy of the event e, with the given path as the field of the event.
func (e Event) at(path fieldowners.Path) Event {
	e.Field, e.Path, e.ServerPath = path, path.String(), path.ServerString()
	return e
}

// moves returns an event for each field that moved between managers, lost an owner or gained an owner, in path order.
func (s change) moves(d fieldowners.Difference) []Event {
	var events []Event
	add := func(kind string, path fieldowners.Path, from, to *view.OwnerItem) {
		e := s.event(kind).at(path)
		e.From, e.To = from, to
		events = append(events, e)
	}
	for _, m := range d.Moved {
		add("moved", m.Path, new(view.Owner(m.From)), new(view.Owner(m.To)))
	}
	for _, o := range d.Lost {
		add("lost", o.Path, new(view.Owner(o.Manager)), nil)
	}
	for _, o := range d.Gained {
		add("gained", o.Path, nil, new(view.Owner(o.Manager)))
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Field.Compare(b.Field) })
	return events
}

func (s change) fight(f fights.Fight) Event {
	e := s.event("fight").at(f.Path)
	for _, m := range f.Managers {
		if m != (fieldowners.Manager{}) { // the zero Manager stands for an unknown manager that deleted the field
			e.Managers = append(e.Managers, view.Owner(m))
		}
	}
	e.Times, e.Since, e.Message = f.Times, new(f.Since.UTC()), f.Message()
	return e
}

func (s change) loop(l fights.Loop) Event {
	e := s.event("loop")
	e.Managers, e.Times, e.Message = view.OwnersOf(l.Managers), l.Times, l.Message()
	return e
}

// written returns the time at which the API server recorded the change, which is the latest time in the entries of
// the writers. After an interruption of the watch, this time can be much earlier than s.at. written returns s.at if
// the entries contain no time, or only times before the previous write. Manually edited entries may contain wrong
// times.
func (s change) written(writers []fieldowners.Manager) time.Time {
	var wrote, before time.Time
	for _, m := range writers {
		if m.Time.After(wrote) {
			wrote = m.Time
		}
	}
	for _, entry := range s.before.ownership.Entries() {
		if entry.Time.After(before) {
			before = entry.Time
		}
	}
	if wrote.IsZero() || wrote.Before(before) {
		return s.at
	}
	return wrote
}

// owners returns the managers that own at least one field selected by the given function, without duplicates.
func (w watched) owners(asked func(fieldowners.Manager, fieldowners.Path) bool) []view.OwnerItem {
	var found []view.OwnerItem
	for _, entry := range w.ownership.Entries() {
		item := view.Owner(entry.Manager)
		if !slices.Contains(found, item) && slices.ContainsFunc(entry.Leaves(), func(p fieldowners.Path) bool { return asked(entry.Manager, p) }) {
			found = append(found, item)
		}
	}
	slices.SortFunc(found, view.OwnerItem.Compare)
	return found
}

// text returns the event as one human-readable line.
func (e Event) text() string {
	line := e.Time.Format(time.RFC3339) + " " + e.object
	path := view.Safe(e.Path)
	switch e.Type {
	case "moved":
		line += " " + path + ": " + e.From.String() + " -> " + e.To.String()
	case "lost":
		line += " " + path + ": lost by " + e.From.String()
	case "gained":
		line += " " + path + ": gained by " + e.To.String()
	case "created", "entered":
		line += ": " + e.Type + ", owned by " + namesOf(e.Managers)
	case "fight":
		return fmt.Sprintf("%s FIGHT %s %s: %s, since %s",
			e.Time.Format(time.RFC3339), e.object, path, view.Safe(e.Message), e.Since.Format(time.RFC3339))
	case "loop":
		return fmt.Sprintf("%s LOOP %s: %s", e.Time.Format(time.RFC3339), e.object, view.Safe(e.Message))
	default:
		line += ": " + e.Type
	}
	if e.Sum {
		line += " (all changes of the interruption combined)"
	}
	return line
}

func namesOf(owners []view.OwnerItem) string {
	if len(owners) == 0 {
		return "nobody"
	}
	var texts []string
	for _, o := range owners {
		texts = append(texts, o.String())
	}
	return strings.Join(texts, ", ")
}
