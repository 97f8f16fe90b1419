package ownerview

import (
	"fmt"
	"io"
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

// Tree writes the object as YAML, with the owners of each field behind it as a
// comment, after a legend of the managers. It is valid YAML, in which only a text that
// is wider than the screen is cut. Tree reports whether there was anything to show.
func (s Screen) Tree(w io.Writer, o *Object, filter Filter) bool {
	lines, missing := o.Lines(filter)
	if len(lines)+len(missing) == 0 {
		return false
	}
	if !s.NoHeaders {
		s.legend(w, o)
	}
	labels := labelsOf(o)
	labels.now = s.Now
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

// column returns where owners begin: behind the widest line that leaves room for them.
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

// line writes a line with its owners: in their column, further to the right behind a
// longer text, or below it where the screen has no room for both.
func (s Screen) line(w io.Writer, labels labels, l Line, column int) {
	text := l.line.fit(s.Width)
	width := utf8.RuneCountInString(text)
	if l.Context {
		text = s.Palette.Faint(text)
	}
	if !l.owned() {
		fmt.Fprintln(w, text)
		return
	}
	at := max(column, width+2)
	room := s.Width - at - len("# ")
	gap := strings.Repeat(" ", at-width)
	below := at > column && !l.line.block && s.Width > 0 // a comment below would belong to a block
	if below && utf8.RuneCountInString(Screen{Width: s.Width}.owners(labels, l, room)) > room {
		room = s.Width - column - len("# ")
		gap = "\n" + strings.Repeat(" ", column)
	}
	fmt.Fprintln(w, text+gap+"# "+s.owners(labels, l, room))
}
