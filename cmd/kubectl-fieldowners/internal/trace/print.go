package trace

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/auditlog"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// mostRows is the maximum number of rows of a table for people. -o json has all rows.
const mostRows = 20

// printReport writes a report as text. With history, it writes the history of an object.
func printReport(w io.Writer, screen view.Screen, r auditlog.Report, history bool) {
	total, requests := 0, 0
	for _, one := range r.Writers {
		total += one.Writes
		requests += one.Requests()
	}
	summary := fmt.Sprintf("%s, %s that can change objects", english.Plural(r.Events, "event", ""), english.Plural(requests, "request", ""))
	if requests > 0 {
		summary += fmt.Sprintf(", %s to %s", stamp(r.From), stamp(r.To))
	}
	fmt.Fprintln(w, view.Wrap(summary, "", screen.Width))
	for _, note := range r.Notes() {
		fmt.Fprintln(w, view.Wrap(note, "", screen.Width))
	}
	if history {
		printHistory(w, screen, r.History)
		return
	}
	var rows []row
	for _, one := range r.Writers {
		rows = append(rows, row{
			cells: []string{
				humanize.Comma(int64(one.Writes)), share(one.Writes, total), humanize.Comma(int64(one.Unchanged)),
				humanize.Comma(int64(one.Conflicts)), humanize.Comma(int64(one.Stale)), humanize.Comma(int64(one.Failed)),
				view.Safe(one.Manager), one.Verb, view.Safe(one.Resource), view.Safe(one.User),
			},
			title: fmt.Sprintf("%s: %s %s", view.Safe(one.Manager), one.Verb, view.Safe(one.Resource)),
			detail: fmt.Sprintf("%s (%s), %d unchanged, %s, %d stale, %d failed; user %s", english.Plural(one.Writes, "write", ""), share(one.Writes, total),
				one.Unchanged, english.Plural(one.Conflicts, "conflict", ""), one.Stale, one.Failed, view.Safe(one.User)),
		})
	}
	table(w, screen, "Who writes", []string{"WRITES", "SHARE", "UNCHANGED", "CONFLICTS", "STALE", "FAILED", "MANAGER", "VERB", "RESOURCE", "USER"}, rows)
	rows = nil
	for _, one := range r.Taken {
		to, values := view.Safe(one.To), value(one.Before)+" -> "+value(one.After)
		if one.Inferred {
			to += " (inferred)"
		}
		rows = append(rows, row{
			cells: []string{strconv.Itoa(one.Times), stamp(one.Last), one.Object.String(), view.Safe(one.Path), view.Safe(one.From), to, values, view.Safe(one.User)},
			title: one.Object.String() + " " + view.Safe(one.Path),
			detail: fmt.Sprintf("from %s to %s, %s; %s, last %s by %s", view.Safe(one.From), to, values,
				english.Plural(one.Times, "time", ""), stamp(one.Last), view.Safe(one.User)),
		})
	}
	table(w, screen, "Fields that were taken", []string{"TIMES", "LAST", "OBJECT", "FIELD", "FROM", "TO", "LAST VALUES", "USER"}, rows)
	rows = nil
	for _, one := range r.Refused {
		rows = append(rows, row{
			cells: []string{strconv.Itoa(one.Times), stamp(one.Last), one.Object.String(), view.Safe(one.Path), view.Safe(one.Manager), view.Safe(one.Owner), view.Safe(one.User)},
			title: one.Object.String() + " " + view.Safe(one.Path),
			detail: fmt.Sprintf("%s was refused %s, the owner is %s; last %s by %s", view.Safe(one.Manager),
				english.Plural(one.Times, "time", ""), view.Safe(one.Owner), stamp(one.Last), view.Safe(one.User)),
		})
	}
	table(w, screen, "Ownership conflicts", []string{"TIMES", "LAST", "OBJECT", "FIELD", "MANAGER", "OWNER", "USER"}, rows)
	if len(r.Fights) > 0 {
		fmt.Fprintf(w, "\n%s\n", screen.Palette.Strong("Fights and loops"))
	}
	for _, f := range r.Fights[:min(len(r.Fights), mostRows)] {
		fmt.Fprintln(w, strings.TrimSpace(fmt.Sprintf("%s %s %s: %s", stamp(f.Time), f.Object, view.Safe(f.Path), view.Safe(f.Message))))
	}
	more(w, len(r.Fights))
}

func printHistory(w io.Writer, screen view.Screen, history []auditlog.Change) {
	var rows []row
	for _, c := range history {
		values := ""
		if c.Before+c.After != "" {
			values = value(c.Before) + " -> " + value(c.After)
		}
		who := view.Safe(c.Manager)
		if c.From != "" {
			who = view.Safe(c.From) + " -> " + who
		}
		if c.Inferred {
			who += " (inferred)"
		}
		cells := []string{c.Time.UTC().Format("2006-01-02T15:04:05.000Z"), c.What, view.Safe(c.Path), values, who, view.Safe(c.User)}
		rows = append(rows, row{cells, strings.Join(strings.Fields(strings.Join(cells[:4], " ")), " "), who + ", user " + cells[5]})
	}
	fmt.Fprintln(w)
	write(w, screen, []string{"TIME", "WHAT", "FIELD", "VALUES", "MANAGER", "USER"}, rows)
}

// row is a row of a table, or a title and a detail where the terminal is narrower than the table.
type row struct {
	cells         []string
	title, detail string
}

// write writes a table. If it is wider than the terminal, write writes a title and a detail for each row instead.
func write(w io.Writer, screen view.Screen, header []string, rows []row) {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		cells[i] = r.cells
	}
	isWide := func(line string) bool { return utf8.RuneCountInString(line) > screen.Width }
	if screen.Width == 0 || !slices.ContainsFunc(view.Align(append([][]string{header}, cells...)), isWide) {
		screen.Table(w, header, cells)
		return
	}
	for _, r := range rows {
		fmt.Fprintf(w, "%s\n%s\n", r.title, view.Wrap(r.detail, "  ", screen.Width))
	}
}

// table writes a table with a title, unless it has no rows.
func table(w io.Writer, screen view.Screen, title string, header []string, rows []row) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", screen.Palette.Strong(title))
	write(w, screen, header, rows[:min(len(rows), mostRows)])
	more(w, len(rows))
}

func more(w io.Writer, rows int) {
	if rows > mostRows {
		fmt.Fprintf(w, "and %s more: see -o json\n", humanize.Comma(int64(rows-mostRows)))
	}
}

func share(part, total int) string {
	if total == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.0f %%", 100*float64(part)/float64(total))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func value(text string) string {
	if text == "" {
		return "none"
	}
	return view.CutOff(view.Safe(text), 30)
}
