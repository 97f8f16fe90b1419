package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
)

// Loop reports that the applies of one field manager changed one object more than 30 times
// within a minute. It describes the last change: the object was read just before that apply,
// and is compared with the API server's answer.
type Loop struct {
	FieldManager string
	Object       ObjectRef
	Fields       []LoopField // which the last apply changed; empty if Recreated
	Recreated    bool        // the object did not exist before the last apply
	// Alone means that nobody wrote to the object between the last two changes by this process:
	// this process itself applied the values before and after.
	Alone bool
	// Others are the other managers of the object before the last apply.
	Others []fieldowners.Manager
}

// LoopField is a field of a Loop. Values that Config.Hide hides are replaced by
// fieldowners.Hidden.
type LoopField struct {
	fieldowners.Change

	Owners []fieldowners.Manager // of the field before the last apply
}

// String returns the field, both values, and who owned the value before.
func (f LoopField) String() string {
	before, after := "absent", "absent"
	if f.Existed {
		before = fieldowners.FormatValue(f.Before)
		if len(f.Owners) > 0 {
			before += " (owned by " + namesOf(f.Owners) + ")"
		}
	}
	if f.Exists {
		after = fieldowners.FormatValue(f.After)
	}
	return fmt.Sprintf("%s from %s to %s", f.Path, before, after)
}

// String returns what happens, the fields and their values, and what to do.
func (l Loop) String() string {
	return fmt.Sprintf("the field manager %q changed %v more than %d times within a minute; the last apply changed %s. %s",
		l.FieldManager, l.Object, loopLimit, l.changed(), l.advice())
}

// changed returns the first few fields.
func (l Loop) changed() string {
	const most = 3
	if l.Recreated {
		return "the object from absent to what the intent lists"
	}
	var texts []string
	for _, field := range l.Fields[:min(most, len(l.Fields))] {
		texts = append(texts, field.String())
	}
	if more := len(l.Fields) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// advice returns the cause, as far as it is known, and what to do.
func (l Loop) advice() string {
	ours := func(m fieldowners.Manager) bool { return m.Name == l.FieldManager }
	var theirs []fieldowners.Manager
	isOurs := false
	for _, field := range l.Fields {
		isOurs = isOurs || slices.ContainsFunc(field.Owners, ours)
		theirs = append(theirs, slices.DeleteFunc(slices.Clone(field.Owners), ours)...)
	}
	switch {
	case l.Recreated:
		return "Somebody deletes the object after each apply: stop the one or the other"
	case l.Alone:
		return "Nobody else wrote in between: this process applies both under this name. " +
			"Give each controller a field manager of its own, and apply the same intent as long as its input is the same. " +
			"If neither value is in an intent, an admission webhook sets the field"
	case isOurs:
		return "Another process applies under this name, or this process applies both. " +
			"Give each writer a field manager of its own, and apply the same intent as long as its input is the same"
	case len(theirs) > 0:
		return namesOf(theirs) + " changes the value back after each apply: stop one of the two, or give way by apply.Relinquish"
	case len(l.Others) > 0:
		return "Another writer removes the value after each apply; the other managers of the object are " + namesOf(l.Others) + ": stop one of the two"
	}
	return "Another writer, which owns nothing of the object, removes the value after each apply: stop one of the two"
}

// namesOf returns the first few managers, each once.
func namesOf(managers []fieldowners.Manager) string {
	const most = 3
	var names []string
	for _, manager := range managers {
		if name := manager.String(); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// suspect is an object, before a change that is due to be reported as a loop.
type suspect struct {
	object *unstructured.Unstructured // nil: it did not exist
	alone  bool                       // it was as this process left it
}

func (c *call) loopKey() loopKey { return loopKey{c.ref.Key(), c.config.FieldManager} }

// lookBefore reads the object before an apply that is due to be reported if it changes
// something. If the object cannot be read, a later change is reported.
func (c *call) lookBefore(ctx context.Context) {
	if c.config.Loops == nil || c.dryRun {
		return
	}
	version, due := c.config.Loops.due(c.loopKey())
	if !due {
		return
	}
	switch live, err := c.readLive(ctx); {
	case err == nil:
		c.suspect = &suspect{live, live.GetResourceVersion() == version}
	case errors.Is(err, errAbsent):
		c.suspect = &suspect{}
	}
}

// countChange counts an apply that changed the object, and reports the loop if it is due.
func (c *call) countChange(landed *answer, action Action) *Loop {
	if c.config.Loops == nil || c.dryRun || action != Created && action != Configured {
		return nil
	}
	c.config.Loops.changed(c.loopKey(), c.ref.ResourceVersion)
	if c.suspect == nil {
		return nil
	}
	loop := c.loopOf(landed)
	c.config.Loops.judged(c.loopKey(), loop != nil)
	if loop != nil {
		c.log.Error(errors.New(loop.String()), "found an endless loop of applies")
	}
	return loop
}

// loopOf compares the object before and after an apply. It returns nil if the apply changed no
// value: Configured may also mean that another manager wrote.
func (c *call) loopOf(landed *answer) *Loop {
	loop := &Loop{FieldManager: c.config.FieldManager, Object: c.ref, Recreated: c.suspect.object == nil, Alone: c.suspect.alone}
	after := landed.object()
	switch {
	case loop.Recreated:
		return loop
	case after == nil:
		return nil
	}
	held, _ := fieldowners.ParseReadable(c.suspect.object.GetManagedFields())
	owned, _ := fieldowners.ParseReadable(after.GetManagedFields())
	for _, change := range fieldowners.Changes(values(c.suspect.object), values(after), held, owned) {
		loop.Fields = append(loop.Fields, c.loopField(change, held))
	}
	isForeign := func(f LoopField) bool {
		return !slices.ContainsFunc(slices.Concat(f.Owners, owned.OwnersOf(f.Path)), c.isOurs)
	}
	if ours := slices.DeleteFunc(slices.Clone(loop.Fields), isForeign); len(ours) > 0 {
		loop.Fields = ours
	} else if len(loop.Fields) == 0 || !loop.Alone { // the other fields are other writers'
		return nil
	}
	for _, entry := range held.Entries() {
		if !c.isOurs(entry.Manager) {
			loop.Others = append(loop.Others, entry.Manager)
		}
	}
	return loop
}

func (c *call) loopField(change fieldowners.Change, held fieldowners.Ownership) LoopField {
	if c.config.hides(c.ref, change.Path, change.Before, change.After) {
		change.Before, change.After = fieldowners.Hide(change.Before), fieldowners.Hide(change.After)
	}
	return LoopField{Change: change, Owners: held.OwnersOf(change.Path)}
}
