package view

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fatih/color"

	"coapply.dev/fieldowners"
)

// Screen describes where output is shown.
type Screen struct {
	Width     int // in columns; 0 is unlimited
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

// missing writes the fields that are owned and absent in the object.
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
		fmt.Fprintln(w, "# "+o.Absence())
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

// column returns the column where owners begin: after the widest line that leaves room for
// them.
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

// line writes a line with its owners: in their column, further to the right after a longer
// text, or below it if the screen has no room for both.
func (s Screen) line(w io.Writer, labels labels, l Line, column int) {
	text := l.fit(s.Width)
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
	below := at > column && !l.block && s.Width > 0 // a comment below would belong to a block
	if below && utf8.RuneCountInString(Screen{Width: s.Width}.owners(labels, l, room)) > room {
		room = s.Width - column - len("# ")
		gap = "\n" + strings.Repeat(" ", column)
	}
	fmt.Fprintln(w, text+gap+"# "+s.owners(labels, l, room))
}

func (l Line) owned() bool { return len(l.Owners)+len(l.Item) > 0 || l.Nobody }

// owners returns the comment of a line: the owners of the field, their operation and since
// when; in parentheses the owners of the existence of a map, a list or a list item. If the
// screen has no room for all, it returns names alone, with the number of those left out.
func (s Screen) owners(labels labels, l Line, room int) string {
	label, most := labels.detailed, len(l.Owners)+len(l.Item)
	fits := func() bool {
		return s.Width == 0 || utf8.RuneCountInString(comment(l, most, label)) <= room
	}
	if !fits() {
		label = labels.of
	}
	for most > 1 && !fits() {
		most--
	}
	if l.Nobody {
		return s.Palette.Faint(comment(l, most, label))
	}
	return comment(l, most, func(m fieldowners.Manager) string { return s.Palette.manager(labels.index(m), label(m)) })
}

// comment returns a comment with at most this many of a line's owners.
func comment(l Line, most int, label func(fieldowners.Manager) string) string {
	owned, left := names(l.Owners, most, label)
	item, leftOfItem := names(l.Item, most-len(l.Owners), label)
	switch {
	case l.Nobody:
		owned = "nobody"
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

// names returns the first managers, and how many others there are.
func names(managers []fieldowners.Manager, most int, label func(fieldowners.Manager) string) (names string, left int) {
	shown := managers[:max(min(most, len(managers)), 0)]
	var texts []string
	for _, m := range shown {
		texts = append(texts, label(m))
	}
	return strings.Join(texts, ", "), len(managers) - len(shown)
}

// okabeIto are the colours of Okabe and Ito's palette that stand out on light and
// dark grounds, as near as the 256 colours of a terminal come. They differ for
// people with any of the common colour blindnesses, and a name stands beside each.
var okabeIto = []color.Attribute{33, 208, 36, 170, 166, 75, 178}

// Palette colours the managers of an object; false colours nothing.
type Palette bool

func (p Palette) manager(index int, text string) string {
	attributes := []color.Attribute{38, 5, okabeIto[max(index, 0)%len(okabeIto)]}
	if index >= len(okabeIto) {
		attributes = append(attributes, color.Bold)
	}
	return p.paint(text, attributes...)
}

// Faint returns text in a faint font.
func (p Palette) Faint(text string) string { return p.paint(text, color.Faint) }

// Strong returns text in a bold font.
func (p Palette) Strong(text string) string { return p.paint(text, color.Bold) }

func (p Palette) paint(text string, attributes ...color.Attribute) string {
	if !p || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}
