package commands

import (
	"io"
	"os"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

const (
	usualWidth = 80
	mostWidth  = 140 // longer lines are hard to read
	leastWidth = 18  // minimum width of the last column: the longest name of an arm
)

// widthOf returns the maximum width of tables that are written to out.
func widthOf(out io.Writer) int {
	file, ok := out.(*os.File)
	if !ok {
		return usualWidth
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		return usualWidth
	}
	return min(width, mostWidth)
}

// wrapped breaks a line between words if out is a terminal. Otherwise it returns the line unchanged, because programs may parse it.
func wrapped(out io.Writer, line string) string {
	if file, ok := out.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return line
	}
	return text.WrapSoft(line, widthOf(out))
}

// tableOf returns a table of the given width. The text in the last column is wrapped.
func tableOf(width int, header table.Row, rows []table.Row) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatUpper
	t.Style().Box.PaddingLeft, t.Style().Box.PaddingRight = "", "  "
	t.AppendHeader(header)
	t.AppendRows(rows)
	last := len(header) - 1
	rest := width
	for column := range last {
		widest := 0
		for _, row := range append([]table.Row{header}, rows...) {
			widest = max(widest, text.StringWidth(row[column].(string)))
		}
		rest -= widest + 2
	}
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: last + 1, WidthMax: max(rest-2, leastWidth), WidthMaxEnforcer: text.WrapSoft},
	})
	t.SuppressTrailingSpaces()
	return t.Render() + "\n"
}
