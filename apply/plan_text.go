package apply

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/wrap"
)

// String returns the plan for a terminal of 80 columns: what Apply would do, then a line for
// each field under a heading. Long values are cut off; paths are not.
func (p Plan) String() string {
	var text planText
	text.wrap("", p.title())
	if p.Refused != nil {
		text.wrap("  ", wire.OneLine(p.Refused))
	}
	text.section("conflicts")
	for _, c := range p.Conflicts {
		text.item(conflictItem(c))
	}
	text.section("changes")
	for _, c := range p.Changes {
		text.item(c.Path.String()+":", changeText(c))
	}
	text.section("taken")
	for _, m := range p.Taken {
		text.item(m.Path.String(), "from "+m.From.String())
	}
	text.section("shared")
	for _, o := range p.Shared {
		text.item(o.Path.String(), "with "+o.Manager.String())
	}
	text.section("gained")
	if p.Action == Created && len(p.Gained) > 0 { // the changes say it all
		text.item(fmt.Sprintf("%d fields", len(p.Gained)), "")
	} else {
		for _, path := range p.Gained {
			text.item(path.String(), "")
		}
	}
	text.section("dropped")
	for _, d := range p.Dropped {
		text.item(d.Path.String(), d.fate())
	}
	text.section("other managers")
	for _, o := range p.others(p.Ownership.Lost) {
		text.item(o.Path.String(), "lost by "+o.Manager.String())
	}
	for _, o := range p.others(p.Ownership.Gained) {
		text.item(o.Path.String(), "gained by "+o.Manager.String())
	}
	return text.String()
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
	case p.Action == "": // what comes with an error
		return strings.TrimPrefix(subject+": nothing was planned", ": ")
	}
	return fmt.Sprintf("%s: would be %s by %s", subject, strings.ToLower(string(p.Action)), p.FieldManager)
}

// others returns all but our own fields, which have headings of their own.
func (p Plan) others(all []fieldowners.Owned) (rest []fieldowners.Owned) {
	for _, o := range all {
		if o.Manager.Name != p.FieldManager || o.Manager.Operation != "Apply" || o.Manager.Subresource != p.Subresource {
			rest = append(rest, o)
		}
	}
	return rest
}

func conflictItem(c Conflict) (head, tail string) {
	if c.Path.IsRoot() {
		return fmt.Sprintf("%v %s", c.Decision, c.ServerPath), "owned by " + c.owner()
	}
	return fmt.Sprintf("%v %v", c.Decision, c.Path),
		fmt.Sprintf("to %s, owned by %s with %s", briefUnless(c.Hidden, c.Ours), c.owner(), briefUnless(c.Hidden, c.Theirs))
}

func changeText(c fieldowners.Change) string {
	switch {
	case !c.Existed:
		return "added " + brief(c.After)
	case !c.Exists:
		return "removed " + brief(c.Before)
	}
	return brief(c.Before) + " -> " + brief(c.After)
}

// fate returns what becomes of the field and its value, in words.
func (d Dropped) fate() string {
	var owners []string
	for _, m := range d.Owners {
		owners = append(owners, m.String())
	}
	if len(owners) == 0 {
		owners = []string{"nobody"}
	}
	switch {
	case d.Existed && !d.Exists:
		return "goes with its value " + brief(d.Before)
	case d.Stays:
		return "stays, owned by " + strings.Join(owners, ", ")
	}
	return changeText(d.Change) + ", owned by " + strings.Join(owners, ", ")
}

// briefUnless returns a value short enough for two on a line, or the mark of a hidden value.
func briefUnless(isHidden bool, v any) string {
	if isHidden {
		return brief(fieldowners.Hide(v))
	}
	return brief(v)
}

func brief(v any) string {
	const limit = 33
	text := []rune(fieldowners.FormatValue(v))
	if len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return string(text)
}

// planText writes lines of at most 80 columns, unless a word is longer.
type planText struct {
	strings.Builder

	heading string // to be written before the next item
}

const columns = 80

func (t *planText) section(name string) { t.heading = name }

// item writes one line, or the tail on lines of its own.
func (t *planText) item(head, tail string) {
	if t.heading != "" {
		t.WriteString(t.heading + ":\n")
		t.heading = ""
	}
	line := "  " + strings.TrimSpace(head+" "+tail)
	if tail == "" || utf8.RuneCountInString(line) <= columns {
		t.WriteString(line + "\n")
		return
	}
	t.WriteString("  " + head + "\n")
	t.wrap("      ", tail)
}

// wrap writes a text, broken into lines at its spaces.
func (t *planText) wrap(indent, text string) {
	t.WriteString(wrap.Words(strings.Split(text, " "), columns, indent, indent, "") + "\n")
}
