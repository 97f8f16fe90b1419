package trace

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// mostRows is the maximum number of rows of a table for people. -o json has all rows.
const mostRows = 20

// print writes the report as text.
func (r Report) print(w io.Writer, screen view.Screen, asked selection) {
	total, requests := 0, 0
	for _, one := range r.Writers {
		total += one.Writes
		requests += one.Requests()
	}
	fmt.Fprintf(w, "%s, %s that write, %s to %s\n", english.Plural(r.Events, "event", ""), english.Plural(requests, "request", ""), stamp(r.From), stamp(r.To))
	for _, note := range r.notes() {
		fmt.Fprintln(w, view.Wrap(note, "", screen.Width))
	}
	if asked.namesOne() {
		r.printHistory(w, screen)
		return
	}
	var rows [][]string
	for _, one := range r.Writers {
		rows = append(rows, []string{
			humanize.Comma(int64(one.Writes)), share(one.Writes, total), humanize.Comma(int64(one.Unchanged)),
			humanize.Comma(int64(one.Conflicts)), humanize.Comma(int64(one.Stale)), humanize.Comma(int64(one.Failed)),
			view.Safe(one.Manager), one.Verb, view.Safe(one.Resource), view.Safe(one.User),
		})
	}
	table(w, screen, "Who writes", []string{"WRITES", "SHARE", "UNCHANGED", "CONFLICTS", "STALE", "FAILED", "MANAGER", "VERB", "RESOURCE", "USER"}, rows)
	rows = nil
	for _, one := range r.Taken {
		to := one.To
		if one.Inferred {
			to += " (inferred)"
		}
		rows = append(rows, []string{
			strconv.Itoa(one.Times), stamp(one.Last), one.Object.String(), view.Safe(one.Path), view.Safe(one.From), view.Safe(to),
			value(one.Before) + " -> " + value(one.After), view.Safe(one.User),
		})
	}
	table(w, screen, "Fields that were taken", []string{"TIMES", "LAST", "OBJECT", "FIELD", "FROM", "TO", "LAST VALUES", "USER"}, rows)
	rows = nil
	for _, one := range r.Refused {
		rows = append(rows, []string{strconv.Itoa(one.Times), stamp(one.Last), one.Object.String(), view.Safe(one.Path), view.Safe(one.Manager), view.Safe(one.Owner), view.Safe(one.User)})
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

func (r Report) printHistory(w io.Writer, screen view.Screen) {
	var rows [][]string
	for _, c := range r.History {
		values := ""
		if c.Before+c.After != "" {
			values = value(c.Before) + " -> " + value(c.After)
		}
		who := view.Safe(c.Manager)
		if c.From != "" {
			who = view.Safe(c.From) + " -> " + who
		}
		rows = append(rows, []string{c.Time.UTC().Format("2006-01-02T15:04:05.000Z"), c.What, view.Safe(c.Path), values, who, view.Safe(c.User)})
	}
	fmt.Fprintln(w)
	screen.Table(w, []string{"TIME", "WHAT", "FIELD", "VALUES", "MANAGER", "USER"}, rows)
}

// notes returns what the log cannot show.
func (r Report) notes() []string {
	var notes []string
	if r.Unreadable > 0 {
		notes = append(notes, english.Plural(r.Unreadable, "line", "")+" skipped: not audit events, or cut off")
	}
	if low := r.Levels["Metadata"] + r.Levels["Request"]; low > 0 {
		notes = append(notes, fmt.Sprintf("%s at the level Metadata or Request: without the response, neither owners nor values nor unchanged writes are shown", english.Plural(low, "request", "")))
	}
	if r.Disordered > 0 {
		notes = append(notes, english.Plural(r.Disordered, "write", "")+" came after a later write of the same object, and were not compared: is a log missing?")
	}
	if r.UnreadEntries > 0 {
		notes = append(notes, english.Plural(r.UnreadEntries, "managed fields entry", "managed fields entries")+" could not be parsed")
	}
	return notes
}

// table writes a table with a title, unless it has no rows.
func table(w io.Writer, screen view.Screen, title string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n%s\n", screen.Palette.Strong(title))
	screen.Table(w, header, rows[:min(len(rows), mostRows)])
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
