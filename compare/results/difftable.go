package results

import (
	"fmt"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"coapply.dev/compare/statistics"
)

// width of a terminal that the table has to fit.
const width = 80

// Table shows the differences in 80 columns.
func (d Differences) Table() string {
	var out strings.Builder
	for _, warning := range d.Warnings {
		fmt.Fprintln(&out, trimmed(text.WrapSoft("Warning: "+warning, width)))
	}
	t := table.NewWriter()
	style := table.StyleLight
	style.Options = table.Options{SeparateHeader: true}
	style.Format.Header = text.FormatDefault
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	t.SetStyle(style)
	t.AppendHeader(table.Row{"cell, arm", "before/s", "after/s", "ratio", "word", "lost"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: 22, WidthMaxEnforcer: text.WrapSoft},
		{Number: 2, Align: text.AlignRight},
		{Number: 3, Align: text.AlignRight},
		{Number: 4, WidthMax: 14, WidthMaxEnforcer: text.WrapText},
		{Number: 5, WidthMax: 11, WidthMaxEnforcer: text.WrapSoft},
	})
	for _, row := range d.Rows {
		t.AppendRow(table.Row{
			row.Cell + " " + row.Arm, perSecond(row.Before), perSecond(row.After), ratioRange(row), row.Word, lost(row),
		})
	}
	if len(d.Rows) > 0 {
		fmt.Fprintln(&out, trimmed(t.Render()))
	} else {
		fmt.Fprintln(&out, "The runs have no cell and arm in common.")
	}
	reasons(&out, d.Rows)
	only(&out, "Only before", d.OnlyBefore)
	only(&out, "Only after", d.OnlyAfter)
	return out.String()
}

// reasons says why rows have no verdict, each reason once.
func reasons(out *strings.Builder, rows []Difference) {
	var all []string
	count := map[string]int{}
	for _, row := range rows {
		if row.Word != statistics.NoVerdict || row.Why == "" {
			continue
		}
		if count[row.Why] == 0 {
			all = append(all, row.Why)
		}
		count[row.Why]++
	}
	for _, why := range all {
		fmt.Fprintln(out, trimmed(text.WrapSoft(fmt.Sprintf("No verdict in %d of %d: %s", count[why], len(rows), why), width)))
	}
}

// trimmed takes the padding off the ends of lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func only(out *strings.Builder, title string, names []string) {
	if len(names) > 0 {
		fmt.Fprintln(out, trimmed(text.WrapSoft(title+": "+strings.Join(names, ", "), width)))
	}
}

func perSecond(i *Interval) string {
	if i == nil {
		return "n/a"
	}
	if i.Mean >= 1000 {
		return fmt.Sprintf("%.0f", i.Mean)
	}
	return fmt.Sprintf("%.3g", i.Mean)
}

func ratioRange(d Difference) string {
	switch {
	case d.Ratio == 0:
		return "n/a"
	case d.Lo == 0:
		return fmt.Sprintf("%.2f", d.Ratio)
	}
	return fmt.Sprintf("%.2f\n[%.2f, %.2f]", d.Ratio, d.Lo, d.Hi)
}

func lost(d Difference) string {
	if d.LostBefore == d.LostAfter {
		return fmt.Sprint(d.LostAfter)
	}
	return fmt.Sprintf("%d → %d", d.LostBefore, d.LostAfter)
}
