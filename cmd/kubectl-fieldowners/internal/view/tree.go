package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fatih/color"

	"coapply.dev/fieldowners"
)

// Screen holds the settings for text output, such as the width of the terminal.
type Screen struct {
	Width     int // the number of columns; 0 means no limit
	Palette   Palette
	Now       time.Time
	NoHeaders bool
}

// Tree writes a legend of the managers, and the object as YAML. The owners of each field are in a YAML comment on its
// line. Lines wider than s.Width are truncated. Tree reports whether the filter selected anything.
func (s Screen) Tree(w io.Writer, o *Object, filter Filter) bool {
	lines, missing := o.Lines(filter)
	if len(lines)+len(missing) == 0 {
		return false
	}
	if !s.NoHeaders {
		s.legend(w, o)
	}
	column := s.column(lines)
	for _, l := range lines {
		s.line(w, o, l, column)
	}
	if len(missing) > 0 {
		fmt.Fprintln(w, "# Owned fields that are not in the object as read:")
	}
	for _, field := range missing {
		owners := distinct(slices.Concat(field.Owners, field.Whole))
		fmt.Fprintf(w, "#   %s  %s\n", Safe(field.Path.String()), s.names(o, owners))
	}
	return true
}

func (s Screen) legend(w io.Writer, o *Object) {
	fmt.Fprintln(w, s.Palette.Strong("# "+o.String()))
	if o.Absent {
		fmt.Fprintln(w, "# "+o.Absence())
		return
	}
	if len(o.Unread) > 0 {
		fmt.Fprintf(w, "# incomplete: managed fields entries that cannot be read: %d\n", len(o.Unread))
	}
	rows := [][]string{{"MANAGER", "OPERATION", "SUBRESOURCE", "FIELDS", "AGE"}}
	for _, entry := range o.Ownership.Entries() {
		rows = append(rows, []string{
			Safe(entry.Name), Safe(string(entry.Operation)), Safe(entry.Subresource),
			fmt.Sprint(len(entry.Leaves())), Age(entry.Time, s.Now),
		})
	}
	for i, text := range Align(rows) {
		if i > 0 {
			text = s.Palette.manager(o.index(o.Ownership.Entries()[i-1].Manager), text)
		}
		fmt.Fprintln(w, strings.TrimRight("# "+text, " "))
	}
}

// column returns the column at which the owners begin, two columns after the longest line. It ignores lines longer
// than half the width of the terminal. If the width is unlimited, it ignores lines longer than 80 columns.
func (s Screen) column(lines []Line) int {
	limit := 80
	if s.Width > 0 {
		limit = s.Width / 2
	}
	column := 0
	for _, l := range lines {
		if width := utf8.RuneCountInString(l.Text); width <= limit {
			column = max(column, width)
		}
	}
	return column + 2
}

// line writes a line with its owners. The owners begin at column, or further right if the line is longer.
func (s Screen) line(w io.Writer, o *Object, l Line, column int) {
	text := CutOff(l.Text, s.Width)
	gap := max(column-utf8.RuneCountInString(text), 2)
	if l.Context {
		text = s.Palette.Faint(text)
	}
	if owners := s.owners(o, l); owners != "" {
		text += strings.Repeat(" ", gap) + "# " + owners
	}
	fmt.Fprintln(w, text)
}

// owners returns the comment of a line, which lists the owners of its field. Managers that own only
// the existence of a map, a list or a list item are in parentheses.
func (s Screen) owners(o *Object, l Line) string {
	owners := s.names(o, l.Owners)
	switch {
	case l.Nobody:
		owners = s.Palette.Faint("nobody")
	case l.Existence:
		owners = "(" + owners + ")"
	}
	if len(l.Item) > 0 {
		owners = strings.TrimSpace(owners + " (item: " + s.names(o, l.Item) + ")")
	}
	return owners
}

// names returns the managers with their operations and the times since their last writes. It omits unknown times. On
// a narrow terminal it omits all times, because the legend shows them.
func (s Screen) names(o *Object, managers []fieldowners.Manager) string {
	var texts []string
	for _, m := range managers {
		text := Owner(m).String()
		if isNarrow := s.Width > 0 && s.Width < 120; !m.Time.IsZero() && !isNarrow {
			text += " " + Age(m.Time, s.Now)
		}
		texts = append(texts, s.Palette.manager(o.index(m), text))
	}
	return strings.Join(texts, ", ")
}

// okabeIto contains the colours of Okabe and Ito's palette that are readable on light and dark backgrounds. Each number
// stands for the most similar of a terminal's 256 colours. People with a common colour blindness can distinguish these
// colours. A name is always printed beside a colour.
var okabeIto = []color.Attribute{33, 208, 36, 170, 166, 75, 178}

// Palette styles text for a terminal, with a colour for each manager. The value false disables all styles.
type Palette bool

func (p Palette) manager(index int, text string) string {
	attributes := []color.Attribute{38, 5, okabeIto[max(index, 0)%len(okabeIto)]}
	if index >= len(okabeIto) {
		attributes = append(attributes, color.Bold)
	}
	return p.paint(text, attributes...)
}

// Faint returns text in a faint font, or unchanged if p is false.
func (p Palette) Faint(text string) string { return p.paint(text, color.Faint) }

// Strong returns text in a bold font, or unchanged if p is false.
func (p Palette) Strong(text string) string { return p.paint(text, color.Bold) }

func (p Palette) paint(text string, attributes ...color.Attribute) string {
	if !p || text == "" {
		return text
	}
	c := color.New(attributes...)
	c.EnableColor()
	return c.Sprint(text)
}
