package ownerview

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"coapply.dev/fieldowners"
)

// Align pads the cells of a table, columns three spaces apart as in kubectl's.
func Align(rows [][]string) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, 0, len(rows))
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			if i < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+3))
			}
		}
		lines = append(lines, strings.TrimRight(b.String(), " "))
	}
	return lines
}

// Header names the columns of Rows.
func Header(wide bool) []string {
	header := []string{"FIELD", "MANAGER", "OPERATION", "SUBRESOURCE"}
	if wide {
		header = append(header, "APIVERSION", "AGE", "VALUE")
	}
	return header
}

// Rows gives a row for each field that the filter asks for and each owner of it.
func (s Screen) Rows(o *Object, filter Filter, wide bool) [][]string {
	if o.Absent { // nobody knows who owns what
		return nil
	}
	var rows [][]string
	for _, field := range held(filter.Fields(o)) {
		owners := slices.Concat(field.Owners, field.Whole)
		if len(owners) == 0 {
			owners = []fieldowners.Manager{{Name: "<nobody>"}}
		}
		for _, m := range owners {
			row := []string{Safe(field.Path.String()), Safe(m.Name), Safe(string(m.Operation)), Safe(m.Subresource)}
			if wide {
				age := ""
				if m.Operation != "" {
					age = Age(m.Time, s.Now)
				}
				row = append(row, Safe(m.APIVersion), age, valueText(field))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// Table writes rows below a header, within the screen: a column of paths gives way
// where it is too narrow.
func (s Screen) Table(w io.Writer, header []string, rows [][]string) {
	all := append([][]string{header}, rows...)
	s.narrow(all, slices.Index(header, "FIELD"))
	for i, text := range Align(all) {
		switch {
		case i > 0:
			fmt.Fprintln(w, text)
		case !s.NoHeaders:
			fmt.Fprintln(w, s.Palette.Strong(text))
		}
	}
}

// held leaves out what only repeats others: parents without owners of their own, and
// what belongs to the owners of a listed field above.
func held(fields []fieldowners.Field) []fieldowners.Field {
	var kept, above []fieldowners.Field
	for _, f := range fields {
		for len(above) > 0 && !f.Path.HasPrefix(above[len(above)-1].Path) {
			above = above[:len(above)-1]
		}
		repeats := len(f.Owners) == 0 && (len(f.Whole) == 0 || len(above) > 0)
		if f.Server || repeats && !f.IsUnowned() {
			continue
		}
		kept, above = append(kept, f), append(above, f)
	}
	return kept
}

// narrow shortens the texts of a column so that the table fits the screen, and cuts
// the lines where that is not enough.
func (s Screen) narrow(rows [][]string, column int) {
	widest, taken := 0, 0
	for i, text := range Align(rows) {
		widest = max(widest, utf8.RuneCountInString(text))
		if column >= 0 {
			taken = max(taken, utf8.RuneCountInString(rows[i][column]))
		}
	}
	if s.Width == 0 || widest <= s.Width || column < 0 {
		return
	}
	for i := range rows {
		rows[i] = slices.Clone(rows[i])
		rows[i][column] = Shorten(rows[i][column], max(taken-(widest-s.Width), 24))
	}
}

// valueText gives a field's value on one short line.
func valueText(field fieldowners.Field) string {
	if !field.Exists {
		return "<not in the object as read>"
	}
	switch v := field.Value.(type) {
	case map[string]any:
		return fmt.Sprintf("{%d}", len(v))
	case []any:
		return fmt.Sprintf("[%d]", len(v))
	}
	text, err := json.Marshal(field.Value)
	if err != nil {
		return "?"
	}
	return CutOff(Safe(string(text)), 60)
}
