package apply

import (
	"cmp"
	"fmt"
	"strings"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// String returns the result on the first line, and then the fields that would change, one on each line, under headings
// such as "taken:". Long values are cut off.
func (p Plan) String() string {
	var text strings.Builder
	fmt.Fprintln(&text, p.title())
	if p.Refused != nil {
		fmt.Fprintln(&text, " ", wire.OneLine(p.Refused))
	}
	section(&text, "conflicts", texts(p.Conflicts))
	section(&text, "changes", p.Changes)
	section(&text, "taken", p.Taken)
	section(&text, "shared", p.Shared)
	if p.Action != Created { // for a new object, the changes already list these fields
		section(&text, "gained", p.Gained)
	}
	section(&text, "dropped", p.Dropped)
	section(&text, "lost by other managers", p.others(p.Ownership.Lost))
	section(&text, "gained by other managers", p.others(p.Ownership.Gained))
	return text.String()
}

func section[T any](text *strings.Builder, heading string, items []T) {
	for i, item := range items {
		if i == 0 {
			fmt.Fprintf(text, "%s:\n", heading)
		}
		fmt.Fprintf(text, "  %v\n", item)
	}
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
		return fmt.Sprintf("%s: does not exist, so %s cannot apply to it", subject, p.FieldManager)
	case p.Action == "": // the zero Plan, which is returned with an error
		return strings.TrimPrefix(subject+": nothing was planned", ": ")
	}
	return fmt.Sprintf("%s: would be %s by %s", subject, strings.ToLower(string(p.Action)), p.FieldManager)
}

// others returns the given fields without the fields of this field manager, which are listed under separate headings.
func (p Plan) others(all []fieldowners.Owned) (rest []fieldowners.Owned) {
	for _, o := range all {
		if o.Manager.Name != p.FieldManager || o.Manager.Operation != "Apply" || o.Manager.Subresource != p.Subresource {
			rest = append(rest, o)
		}
	}
	return rest
}

// String returns one line: the field, what happens to its value, and its remaining owners.
func (d Dropped) String() string {
	owners := cmp.Or(namesOf(d.Owners), "nobody")
	switch {
	case d.Existed && !d.Exists:
		return d.Path.String() + ": removed, with its value " + fieldowners.FormatValue(d.Before)
	case d.Stays:
		return d.Path.String() + ": stays, owned by " + owners
	}
	return d.Change.String() + ", owned by " + owners
}
