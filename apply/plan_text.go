package apply

import (
	"cmp"
	"fmt"
	"strings"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// String returns what Apply would do, and then one line for each field, under headings. Long values
// are cut off.
func (p Plan) String() string {
	lines := []string{p.title()}
	if p.Refused != nil {
		lines = append(lines, "  "+wire.OneLine(p.Refused))
	}
	section := func(heading string, items []string) {
		if len(items) > 0 {
			lines = append(lines, heading+":", "  "+strings.Join(items, "\n  "))
		}
	}
	section("conflicts", textsOf(p.Conflicts, conflictText))
	section("changes", textsOf(p.Changes, func(c fieldowners.Change) string { return c.Path.String() + ": " + changeText(c) }))
	section("taken", textsOf(p.Taken, func(m fieldowners.Moved) string { return fmt.Sprintf("%s from %s", m.Path, m.From) }))
	section("shared", textsOf(p.Shared, func(o fieldowners.Owned) string { return fmt.Sprintf("%s with %s", o.Path, o.Manager) }))
	if p.Action == Created && len(p.Gained) > 0 { // the changes list the fields
		section("gained", []string{fmt.Sprintf("%d fields", len(p.Gained))})
	} else {
		section("gained", textsOf(p.Gained, fieldowners.Path.String))
	}
	section("dropped", textsOf(p.Dropped, func(d Dropped) string { return d.Path.String() + " " + d.fate() }))
	section("other managers", append(
		textsOf(p.others(p.Ownership.Lost), func(o fieldowners.Owned) string { return fmt.Sprintf("%s lost by %s", o.Path, o.Manager) }),
		textsOf(p.others(p.Ownership.Gained), func(o fieldowners.Owned) string { return fmt.Sprintf("%s gained by %s", o.Path, o.Manager) })...))
	return strings.Join(lines, "\n") + "\n"
}

func textsOf[T any](items []T, text func(T) string) (all []string) {
	for _, item := range items {
		all = append(all, text(item))
	}
	return all
}

func (p Plan) title() string {
	subject := p.Object.String()
	if p.Subresource != "" {
		subject += " (" + p.Subresource + ")"
	}
	switch {
	case p.Refused != nil:
		return fmt.Sprintf("%s: an apply by %s would be refused", subject, p.FieldManager)
	case p.Action == Absent:
		return fmt.Sprintf("%s: there is none for %s to apply to", subject, p.FieldManager)
	case p.Action == "": // the Plan that is returned with an error
		return strings.TrimPrefix(subject+": nothing was planned", ": ")
	}
	return fmt.Sprintf("%s: would be %s by %s", subject, strings.ToLower(string(p.Action)), p.FieldManager)
}

// others returns the fields of other managers. Our own fields have headings of their own.
func (p Plan) others(all []fieldowners.Owned) (rest []fieldowners.Owned) {
	for _, o := range all {
		if o.Manager.Name != p.FieldManager || o.Manager.Operation != "Apply" || o.Manager.Subresource != p.Subresource {
			rest = append(rest, o)
		}
	}
	return rest
}

func conflictText(c Conflict) string {
	if c.Path.IsRoot() {
		return fmt.Sprintf("%v %s owned by %s", c.Decision, c.ServerPath, c.owner())
	}
	return fmt.Sprintf("%v %v to %s, owned by %s with %s", c.Decision, c.Path,
		brief(showUnless(c.Hidden, c.Ours)), c.owner(), brief(showUnless(c.Hidden, c.Theirs)))
}

func changeText(c fieldowners.Change) string {
	before, after := brief(fieldowners.FormatValue(c.Before)), brief(fieldowners.FormatValue(c.After))
	switch {
	case !c.Existed:
		return "added " + after
	case !c.Exists:
		return "removed " + before
	}
	return before + " -> " + after
}

// String returns the field and what becomes of its value, on one line.
func (d Dropped) String() string { return d.Path.String() + ": " + d.fate() }

// fate returns what becomes of the field and its value, in words.
func (d Dropped) fate() string {
	owners := cmp.Or(namesOf(d.Owners), "nobody")
	switch {
	case d.Existed && !d.Exists:
		return "goes with its value " + brief(fieldowners.FormatValue(d.Before))
	case d.Stays:
		return "stays, owned by " + owners
	}
	return changeText(d.Change) + ", owned by " + owners
}

// brief cuts off a value, so that two values fit on a line.
func brief(value string) string {
	const limit = 33
	if text := []rune(value); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return value
}
