package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"coapply.dev/fieldowners"
)

// gap is the number of spaces between columns, as in kubectl's tables.
const gap = 3

// Align returns a line for each row of a table, with aligned columns. Cells must not contain tabs.
func Align(rows [][]string) []string {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, gap, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(columns, strings.Join(row, "\t"))
	}
	_ = columns.Flush() // writing to memory cannot fail
	lines := strings.Split(text.String(), "\n")[:len(rows)]
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return lines
}

// Header returns the column names of the table that Rows returns.
func Header(wide bool) []string {
	header := []string{"FIELD", "MANAGER", "OPERATION", "SUBRESOURCE"}
	if wide {
		header = append(header, "APIVERSION", "AGE", "VALUE")
	}
	return header
}

// Rows returns the rows of a table. There is one row for each owner of each field that the filter selects.
func (s Screen) Rows(o *Object, filter Filter, wide bool) [][]string {
	if o.Absent { // the owners are not known
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

// Table writes a table with a header. As in kubectl's tables, cells are not truncated.
func (s Screen) Table(w io.Writer, header []string, rows [][]string) {
	for i, text := range Align(append([][]string{header}, rows...)) {
		switch {
		case i > 0:
			fmt.Fprintln(w, text)
		case !s.NoHeaders:
			fmt.Fprintln(w, s.Palette.Strong(text))
		}
	}
}

// held returns the fields that get a row in a table. It omits parents without owners. It also omits the parts of a
// field that is owned as a whole, such as an atomic list, because the field itself has a row.
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

// valueText returns the value of a field as one line. For a map or list, it returns only the length.
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
	return CutOff(fieldowners.FormatValue(field.Value), 60)
}
