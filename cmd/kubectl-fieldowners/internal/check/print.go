package check

import (
	"cmp"
	"fmt"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

func (c *command) print(items []result) error {
	conflicts, takeovers := 0, 0
	for _, item := range items {
		conflicts += len(item.Conflicts)
		if item.Takeover != nil {
			takeovers++
		}
		if c.output == "text" {
			c.text(item)
		}
	}
	if err := c.Structured(c.output, list{FieldManager: c.manager, Items: items}); err != nil {
		return err
	}
	if takeovers > 0 {
		fmt.Fprintln(c.ErrOut, "warning: kubectl apply would remove more than an apply of these files does")
	}
	if conflicts > 0 {
		return console.ErrFound
	}
	return nil
}

// text prints the result of one object for people.
func (c *command) text(item result) {
	palette := c.Screen(false).Palette
	object := view.Ref{Kind: item.Kind, Namespace: item.Namespace, Name: item.Name}
	verdict := "no conflict"
	switch {
	case len(item.Conflicts) > 0:
		verdict = english.Plural(len(item.Conflicts), "conflict", "")
	case item.Creates:
		verdict = "no conflict, it would be created"
	}
	fmt.Fprintln(c.Out, palette.Strong(object.String()+": "+verdict))
	for _, conflict := range item.Conflicts {
		fmt.Fprintf(c.Out, "  %s\n", view.Safe(cmp.Or(conflict.Path, conflict.ServerPath)))
		fmt.Fprintf(c.Out, "      %s wants %s, %s has %s\n",
			view.Safe(c.manager), short(conflict.Ours), conflict.Owner.String(), short(conflict.Theirs))
	}
	c.section("becomes shared", texts(item.Shared, shared.String))
	c.section("given up, as the file does not list it", texts(item.Dropped, dropped.String))
	c.section("changes", texts(item.Changes, change.String))
	if t := item.Takeover; t != nil {
		c.section(t.String(), texts(t.Removes, view.Safe))
	}
}

func (c *command) section(heading string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintln(c.Out, "  "+heading+":")
	for _, line := range lines {
		fmt.Fprintln(c.Out, "    "+line)
	}
}

func texts[T any](all []T, text func(T) string) (lines []string) {
	for _, one := range all {
		lines = append(lines, text(one))
	}
	return lines
}

func (s shared) String() string { return view.Safe(s.Path) + " with " + s.Owner.String() }

func (d dropped) String() string {
	fate := "stays on the object"
	switch {
	case d.Removed:
		fate = "goes from the object"
	case len(d.KeptBy) > 0:
		fate = "stays with"
		for _, owner := range d.KeptBy {
			fate += " " + owner.String()
		}
	}
	return view.Safe(d.Path) + " " + fate
}

func (c change) String() string {
	return fmt.Sprintf("%s: %s -> %s", view.Safe(c.Path), short(c.Before), short(c.After))
}

// short returns a value on one short line.
func short(v any) string {
	if v == nil {
		return "nothing"
	}
	return view.CutOff(fieldowners.FormatValue(v), 60)
}
