package ownerview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"coapply.dev/fieldowners"
)

// Screen is where something is shown.
type Screen struct {
	Width     int // columns; 0 is unlimited
	Palette   Palette
	Now       time.Time
	NoHeaders bool
}

// line is one line of YAML with the field that it shows, nil for the further lines
// of a text.
type line struct {
	text  string
	field *shown
	item  *shown // the list item that begins on this line
}

// Tree writes the object as YAML, with the owners of each field behind it as a
// comment, after a legend of the managers. Without NoHeaders and Width it is valid
// YAML. It tells whether there was anything to show.
func (s Screen) Tree(w io.Writer, o *Object, filter Filter) bool {
	lines, missing := o.Lines(filter)
	if len(lines)+len(missing) == 0 {
		return false
	}
	if !s.NoHeaders {
		s.legend(w, o)
	}
	labels := labelsOf(o)
	column := s.column(lines)
	for _, l := range lines {
		s.line(w, labels, l, column)
	}
	s.missing(w, o, missing)
	return true
}

// missing writes what is owned and not there by that name.
func (s Screen) missing(w io.Writer, o *Object, fields []fieldowners.Field) {
	for i, field := range fields {
		if i == 0 {
			fmt.Fprintln(w, "# Owned, and not in the object as read:")
		}
		owners, path := o.Owners(field), Safe(field.Path.String())
		if s.Width > 0 {
			path = Shorten(path, max(s.Width-utf8.RuneCountInString(owners)-6, 24))
		}
		fmt.Fprintf(w, "#   %s  %s\n", path, owners)
	}
}

func (s Screen) legend(w io.Writer, o *Object) {
	fmt.Fprintln(w, s.Palette.Strong("# "+o.String()))
	if o.Absent {
		fmt.Fprintln(w, "# managedFields absent: ask with --show-managed-fields")
		return
	}
	if len(o.Unread) > 0 {
		fmt.Fprintf(w, "# incomplete: %d of the managed fields' entries cannot be read\n", len(o.Unread))
	}
	rows := [][]string{{"MANAGER", "OPERATION", "SUBRESOURCE", "FIELDS", "AGE"}}
	labels := labelsOf(o)
	for _, entry := range o.Ownership.Entries() {
		rows = append(rows, []string{
			Safe(entry.Name), Safe(string(entry.Operation)), Safe(entry.Subresource),
			fmt.Sprint(len(entry.Leaves())), Age(entry.Time, s.Now),
		})
	}
	for i, text := range Align(rows) {
		if i > 0 {
			text = s.Palette.manager(labels.index(o.Ownership.Entries()[i-1].Manager), text)
		}
		fmt.Fprintln(w, strings.TrimRight("# "+text, " "))
	}
}

// column gives where owners begin: behind the widest line that leaves room for them.
func (s Screen) column(lines []Line) int {
	limit := 80
	if s.Width > 0 {
		limit = s.Width * 55 / 100
	}
	column := 0
	for _, l := range lines {
		if width := utf8.RuneCountInString(l.Text); width <= limit {
			column = max(column, width)
		}
	}
	return column + 2
}

func (s Screen) line(w io.Writer, labels labels, l Line, column int) {
	text, limit := l.Text, s.Width
	if l.owned() {
		limit = column - 2
	}
	if s.Width > 0 {
		text = CutOff(text, limit)
	}
	gap := strings.Repeat(" ", max(column-utf8.RuneCountInString(text), 2))
	if l.Context {
		text = s.Palette.Faint(text)
	}
	if l.owned() {
		text += gap + "# " + s.owners(labels, l, s.Width-column-len("# "))
	}
	fmt.Fprintln(w, text)
}

func (l Line) owned() bool { return len(l.Owners)+len(l.Item) > 0 || l.Nobody }

// owners gives the comment of a line: who owns the field; in parentheses who owns
// that a map, a list or a list item exists. On a screen without room for all it
// counts those left out.
func (s Screen) owners(labels labels, l Line, room int) string {
	most := len(l.Owners) + len(l.Item)
	plain := Screen{}
	for s.Width > 0 && most > 1 && utf8.RuneCountInString(plain.ownersAtMost(labels, l, most)) > room {
		most--
	}
	return s.ownersAtMost(labels, l, most)
}

func (s Screen) ownersAtMost(labels labels, l Line, most int) string {
	owned, left := s.names(labels, l.Owners, most)
	item, leftOfItem := s.names(labels, l.Item, most-len(l.Owners))
	switch {
	case l.Nobody:
		owned = s.Palette.Faint("nobody")
	case l.Existence:
		owned = "(" + owned + ")"
	}
	if item != "" {
		owned = strings.TrimSpace(owned + " (item: " + item + ")")
	}
	if left += leftOfItem; left > 0 {
		owned += fmt.Sprintf(" +%d", left)
	}
	return owned
}

// wholeFrom tells whether everything below the field belongs to its owners.
func wholeFrom(field fieldowners.Field) bool {
	return !slices.ContainsFunc(field.Fields, func(below fieldowners.Field) bool { return len(below.Whole) == 0 })
}

// names gives the first of the managers, and how many others there are.
func (s Screen) names(labels labels, managers []fieldowners.Manager, most int) (names string, left int) {
	shown := managers[:max(min(most, len(managers)), 0)]
	var texts []string
	for _, m := range shown {
		texts = append(texts, s.Palette.manager(labels.index(m), labels.of(m)))
	}
	return strings.Join(texts, ", "), len(managers) - len(shown)
}

// yamlLines writes a field and what is below it. The quoting and the lines of long
// texts are the YAML library's.
func yamlLines(field *shown, missing *[]fieldowners.Field) []line {
	if !field.Exists {
		for lost := range field.All() {
			if len(lost.Owners) > 0 {
				*missing = append(*missing, lost)
			}
		}
		return nil
	}
	steps := field.Path.Elements()
	name := steps[len(steps)-1].Field
	var below []line
	for i := range field.below {
		below = append(below, yamlLines(&field.below[i], missing)...)
	}
	switch {
	case len(field.Fields) == 0 || len(below) == 0:
		return scalarLines(name, field)
	case name != nil:
		key := strings.TrimSuffix(scalarText(name, nil), " null")
		if _, isList := field.Value.([]any); !isList {
			below = indent(below)
		}
		return append([]line{{text: key, field: field}}, below...)
	}
	below = indent(below)
	below[0].text = "- " + below[0].text[2:]
	if below[0].item == nil {
		below[0].item = field
	}
	return below
}

func scalarLines(name *string, field *shown) []line {
	var lines []line
	for i, text := range strings.Split(scalarText(name, field.Value), "\n") {
		l := line{text: text}
		if i == 0 {
			l.field = field
		}
		lines = append(lines, l)
	}
	return lines
}

// scalarText gives a value with its key, if it has one, or as an item of a list.
func scalarText(name *string, v any) string {
	var content any = []any{v}
	if name != nil {
		content = map[string]any{*name: v}
	}
	text, err := YAML(content)
	switch {
	case err != nil: // it was read from JSON or YAML
		return "# " + Safe(err.Error())
	case text[0] != '{' && text[0] != '[':
		return strings.TrimSuffix(string(text), "\n")
	}
	// What YAML left to JSON goes on in blocks.
	value, _ := JSON(v)
	if name == nil {
		return "- " + string(value)
	}
	key, _ := JSON(*name)
	return string(key) + ": " + string(value)
}

func indent(lines []line) []line {
	for i := range lines {
		lines[i].text = "  " + lines[i].text
	}
	return lines
}
