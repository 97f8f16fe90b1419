package check

import (
	"errors"
	"fmt"
	"slices"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/console"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
	"coapply.dev/fieldowners"
)

func (c *command) print(items []result) error {
	conflicts, unsure, takeovers, refused, unchecked := 0, 0, 0, 0, 0
	for _, item := range items {
		refused += len(item.Refused)
		conflicts += len(item.Conflicts)
		unsure += len(texts(item.Unsure, doubt.open))
		if item.Takeover != nil {
			takeovers++
		}
		if item.Creates || slices.ContainsFunc(item.Dropped, func(d dropped) bool { return d.Removed }) {
			unchecked++
		}
	}
	var err error
	switch c.output {
	case "text":
		for _, item := range items {
			c.text(item)
		}
	case "sarif":
		err = c.PrintSarif(sarifOf(c.manager, items))
	default:
		err = c.Structured(c.output, list{FieldManager: c.manager, Server: c.asksServer(), Items: items})
	}
	if err != nil {
		return err
	}
	if unsure > 0 {
		fmt.Fprintf(c.ErrOut, "warning: managed fields alone do not tell all, see %q: --dry-run=server asks the API server\n", "not certain")
	}
	if unchecked > 0 && !c.asksServer() {
		fmt.Fprintln(c.ErrOut, "warning: required fields, names and values are not checked: --dry-run=server asks the API server")
	}
	if takeovers > 0 {
		fmt.Fprintln(c.ErrOut, "warning: kubectl apply would remove more than an apply of these files does")
	}
	for _, item := range items {
		if item.crowd != "" {
			fmt.Fprintf(c.ErrOut, "warning: %s: %s\n", view.Safe(item.Kind+" "+item.Name), item.crowd)
		}
	}
	switch {
	case refused > 0:
		return errors.New("the API server would refuse what is wrong in these files")
	case conflicts > 0:
		return console.ErrFound
	case unsure > 0:
		return console.ErrUnsure
	}
	return nil
}

// text prints the result of one object for people.
func (c *command) text(item result) {
	palette := c.Screen(false).Palette
	object := view.Ref{Kind: item.Kind, Namespace: item.Namespace, Name: item.Name}
	verdict := "no conflict"
	switch {
	case len(item.Refused) > 0:
		verdict = "refused"
	case len(item.Conflicts) > 0:
		verdict = english.Plural(len(item.Conflicts), "conflict", "")
	case item.Creates:
		verdict = "no conflict, it would be created"
	}
	if len(item.Refused)+len(item.Conflicts) == 0 && len(texts(item.Unsure, doubt.open)) > 0 {
		verdict += ", but not certain"
	}
	fmt.Fprintln(c.Out, palette.Strong(object.String()+": "+verdict))
	for _, r := range item.Refused {
		fmt.Fprintf(c.Out, "  %s:%d: %s: %s\n", view.Safe(item.File), r.Line, view.Safe(r.Path), r.Reason)
	}
	for _, conflict := range item.Conflicts {
		fmt.Fprintf(c.Out, "  %s:%d: %s\n", view.Safe(item.File), conflict.Line, view.Safe(conflict.Path))
		fmt.Fprintf(c.Out, "      %s wants %s, %s has %s\n",
			view.Safe(c.manager), short(conflict.Ours), conflict.Owner.String(), short(conflict.Theirs))
	}
	if c.asksServer() && len(item.Conflicts) > 0 {
		fmt.Fprintln(c.Out, "  (of a conflicting apply the API server tells nothing else)")
	}
	c.section("becomes shared", append(texts(item.Shared, shared.String), texts(item.Unsure, doubt.sharing)...))
	c.section("given up, as the file does not list it", texts(item.Dropped, dropped.String))
	c.section("changes", texts(item.Changes, change.String))
	if t := item.Takeover; t != nil {
		c.section(t.String(), texts(t.Removes, view.Safe))
	}
	c.section("not certain", texts(item.Unsure, doubt.open))
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

// texts returns the non-empty texts of all.
func texts[T any](all []T, text func(T) string) (lines []string) {
	for _, one := range all {
		if line := text(one); line != "" {
			lines = append(lines, line)
		}
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

// sharing returns the text of a doubt about whether a field is shared as a whole.
func (d doubt) sharing() string {
	if !d.Sharing {
		return ""
	}
	return view.Safe(d.Path) + ", or keys of it, perhaps: " + view.Safe(d.Reason)
}

// open returns the text of any other doubt.
func (d doubt) open() string {
	what := view.Safe(d.Path)
	switch {
	case d.Sharing:
		return ""
	case d.Path == "":
		what = "the object itself"
	}
	return fmt.Sprintf("%s (line %d): %s", what, d.Line, view.Safe(d.Reason))
}

// short returns a value on one short line.
func short(v any) string {
	if v == nil {
		return "nothing"
	}
	return view.CutOff(fieldowners.FormatValue(v), 60)
}
