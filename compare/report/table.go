package report

import (
	"slices"
	"strings"

	pretty "github.com/jedib0t/go-pretty/v6/table"
)

// table is rows of text, for the page and for Markdown alike. The first column is the rows' heading.
type table struct {
	Title   string
	Columns []column
	Rows    []row
	Note    string
}

type column struct {
	Name   string
	Number bool // aligned to the right
	Wide   bool // sentences, which are broken
	State  bool // shows the class of its row
}

type row struct {
	Cells []string
	// Class marks a row: "bad" for what must not be, "good", "soft" for what counts for nothing.
	Class string
	// Arm gives the row the swatch of an arm; nil for none.
	Arm *look
}

// columns reads them from their names: "#goodput" is a number, "~text" is wide, "!state" shows the class of the row.
func columns(names ...string) []column {
	var all []column
	for _, name := range names {
		text := strings.TrimLeft(name, "#~!")
		all = append(all, column{text, strings.HasPrefix(name, "#"), strings.HasPrefix(name, "~"), strings.HasPrefix(name, "!")})
	}
	return all
}

func (t *table) add(class string, cells ...string) {
	for i := range cells {
		cells[i] = cut(cells[i])
	}
	t.Rows = append(t.Rows, row{Cells: cells, Class: class})
}

func (t *table) addArm(arm look, class string, cells ...string) {
	t.add(class, cells...)
	t.Rows[len(t.Rows)-1].Arm = &arm
}

// withoutEmpty leaves out the columns in which nothing was measured anywhere, and names them in the note: a table of
// dashes is hard to read, and what is missing has to be said all the same.
func (t table) withoutEmpty() table {
	var missing []string
	for i := len(t.Columns) - 1; i > 0 && len(t.Rows) > 0; i-- {
		if slices.ContainsFunc(t.Rows, func(r row) bool { return r.Cells[i] != na }) {
			continue
		}
		missing = append(missing, t.Columns[i].Name)
		t.Columns = slices.Delete(slices.Clone(t.Columns), i, i+1)
		for j := range t.Rows {
			t.Rows[j].Cells = slices.Delete(t.Rows[j].Cells, i, i+1)
		}
	}
	slices.Reverse(missing)
	if len(missing) > 0 {
		t.Note = strings.TrimSpace(t.Note + " Not measured (n/a): " + strings.Join(missing, ", ") + ".")
	}
	return t
}

// markdown writes the table with a bar between columns.
func (t table) markdown() string {
	if len(t.Rows) == 0 {
		return "None.\n"
	}
	w := pretty.NewWriter()
	var head pretty.Row
	var configs []pretty.ColumnConfig
	for i, c := range t.Columns {
		head = append(head, plain(c.Name))
		if c.Number {
			configs = append(configs, pretty.ColumnConfig{Number: i + 1, Align: alignRight, AlignHeader: alignRight})
		}
	}
	w.AppendHeader(head)
	w.SetColumnConfigs(configs)
	for _, r := range t.Rows {
		var cells pretty.Row
		for _, c := range r.Cells {
			cells = append(cells, plain(c))
		}
		w.AppendRow(cells)
	}
	return w.RenderMarkdown() + "\n"
}
