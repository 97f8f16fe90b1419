package main

import (
	"slices"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/fights"
)

// watchStep is what became of one object.
type watchStep struct {
	target        watchTarget
	before, after *watched // nil: not there
	at            time.Time
	sum           bool // other steps may have come in between
}

// watchEvent is one line. With -o json it stands there as it is here.
type watchEvent struct {
	Time time.Time `json:"time"`
	Type string    `json:"type"`
	Sum  bool      `json:"sum,omitempty"`

	APIVersion          string `json:"apiVersion"`
	Kind                string `json:"kind"`
	Namespace           string `json:"namespace,omitempty"`
	Name                string `json:"name,omitempty"`
	UID                 string `json:"uid,omitempty"`
	FromResourceVersion string `json:"fromResourceVersion,omitempty"`
	ResourceVersion     string `json:"resourceVersion,omitempty"`

	Path       string                `json:"path,omitempty"`
	ServerPath string                `json:"serverPath,omitempty"`
	From       *ownerview.OwnerItem  `json:"from,omitempty"`
	To         *ownerview.OwnerItem  `json:"to,omitempty"`
	Managers   []ownerview.OwnerItem `json:"managers,omitempty"`

	Times int        `json:"times,omitempty"`
	Since *time.Time `json:"since,omitempty"`

	Fields [][]string `json:"fields,omitempty"`

	path    fieldowners.Path
	object  string // in sentences
	message string // of fight and loop: who does what, and how often
}

// parts takes a step apart where an object has gone and another has come under its
// name.
func (s watchStep) parts() []watchStep {
	if s.before == nil || s.after == nil || s.before.uid == s.after.uid {
		return []watchStep{s}
	}
	gone, come := s, s
	gone.after, come.before = nil, nil
	return []watchStep{gone, come}
}

// event is what all events of the step have in common.
func (s watchStep) event(kind string) watchEvent {
	w := s.after
	if w == nil {
		w = s.before
	}
	return watchEvent{
		Time: s.at.UTC(), Type: kind, Sum: s.sum,
		APIVersion: s.target.kind.GroupVersion().String(), Kind: s.target.kind.Kind,
		Namespace: w.namespace, Name: w.name, UID: string(w.uid), ResourceVersion: w.version,
		object: s.target.object(*w),
	}
}

// at returns the event as one of a field.
func (e watchEvent) at(path fieldowners.Path) watchEvent {
	e.path, e.Path, e.ServerPath = path, path.String(), path.ServerString()
	return e
}

// moves returns an event for each finding of a difference, in the order of paths.
func (s watchStep) moves(d fieldowners.Difference) []watchEvent {
	var events []watchEvent
	add := func(kind string, path fieldowners.Path, from, to *ownerview.OwnerItem) {
		e := s.event(kind).at(path)
		e.From, e.To = from, to
		events = append(events, e)
	}
	for _, m := range d.Moved {
		add("moved", m.Path, new(ownerview.Owner(m.From)), new(ownerview.Owner(m.To)))
	}
	for _, o := range d.Lost {
		add("lost", o.Path, new(ownerview.Owner(o.Manager)), nil)
	}
	for _, o := range d.Gained {
		add("gained", o.Path, nil, new(ownerview.Owner(o.Manager)))
	}
	slices.SortStableFunc(events, func(a, b watchEvent) int { return a.path.Compare(b.path) })
	return events
}

func (s watchStep) fight(f fights.Fight) watchEvent {
	e := s.event("fight").at(f.Path)
	for _, m := range []fieldowners.Manager{f.A, f.B} {
		if m != (fieldowners.Manager{}) { // who deletes a field may have left no name
			e.Managers = append(e.Managers, ownerview.Owner(m))
		}
	}
	e.Times, e.Since, e.message = f.Times, new(f.Since.UTC()), f.Message()
	return e
}

// written gives the time at which the API server recorded a write, where it did:
// what comes after an interruption has not happened all at once. An entry that was
// rewritten by hand may bring any time; one before the last write is not believed.
func (s watchStep) written(writers []fieldowners.Manager) time.Time {
	var wrote, before time.Time
	for _, m := range writers {
		wrote = latest(wrote, m.Time)
	}
	for _, entry := range s.before.ownership.Entries() {
		before = latest(before, entry.Time)
	}
	if wrote.IsZero() || wrote.Before(before) {
		return s.at
	}
	return wrote
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// owners lists who owns any of the fields that are asked for, each manager once.
func (w watched) owners(asked func(fieldowners.Manager, fieldowners.Path) bool) []ownerview.OwnerItem {
	var found []ownerview.OwnerItem
	for _, entry := range w.ownership.Entries() {
		item := ownerview.Owner(entry.Manager)
		if !slices.Contains(found, item) && slices.ContainsFunc(entry.Leaves(), func(p fieldowners.Path) bool { return asked(entry.Manager, p) }) {
			found = append(found, item)
		}
	}
	slices.SortFunc(found, ownerview.OwnerItem.Compare)
	return found
}
