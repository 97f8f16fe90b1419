package owneraudit

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// shownOverlaps is how many pairs of managers a table shows, unless it is wide.
const shownOverlaps = 20

// Print writes a report for people to read: managers, findings, overlaps.
func Print(w io.Writer, r Report, screen view.Screen, wide bool) {
	if len(r.Managers) == 0 {
		return
	}
	printManagers(w, r.Managers, screen, wide)
	printFindings(w, r.Findings, screen)
	printContract(w, r.Contract, screen, wide)
	printOverlaps(w, r.Overlaps, screen, wide)
}

func printManagers(w io.Writer, managers []ManagerRow, screen view.Screen, wide bool) {
	header := []string{"MANAGER", "OPERATION", "SUBRESOURCE", "OBJECTS", "FIELDS", "SHARED", "LAST WRITE", "BYTES"}
	if wide {
		header = append(header, "KINDS", "APIVERSIONS")
	}
	var rows [][]string
	for _, m := range managers {
		var last time.Time
		if m.LastWrite != nil {
			last = *m.LastWrite
		}
		row := []string{
			view.Safe(m.Name), view.Safe(string(m.Operation)), view.Safe(m.Subresource), strconv.Itoa(m.Objects),
			strconv.Itoa(m.Fields), strconv.Itoa(m.Shared), view.Age(last, screen.Now), strconv.Itoa(m.Bytes),
		}
		if wide {
			row = append(row, kindsText(m.Kinds), view.Safe(strings.Join(m.APIVersions, ",")))
		}
		rows = append(rows, row)
	}
	if wide {
		screen.Wide(w, header, rows)
		return
	}
	if screen.Width > 0 && screen.Width < roomy {
		header, rows = joined(header, rows, managers)
	}
	screen.Table(w, header, rows)
}

// say writes a sentence under a heading.
func say(w io.Writer, screen view.Screen, format string, args ...any) {
	fmt.Fprintln(w, view.Wrap(fmt.Sprintf(format, args...), "  ", screen.Width))
}

// roomy is the width from which a manager has three columns.
const roomy = 100

// joined puts name, operation and subresource into one column.
func joined(header []string, rows [][]string, managers []ManagerRow) (newHeader []string, newRows [][]string) {
	for i, row := range rows {
		newRows = append(newRows, append([]string{managers[i].Manager.String()}, row[3:]...))
	}
	return append([]string{"MANAGER"}, header[3:]...), newRows
}

func kindsText(kinds []Kind) string {
	var texts []string
	for _, k := range kinds {
		texts = append(texts, view.Safe(fmt.Sprintf("%s:%d", k.Kind, k.Objects)))
	}
	return strings.Join(texts, ",")
}

func printFindings(w io.Writer, findings []Finding, screen view.Screen) {
	for _, f := range findings {
		about := ""
		if f.Manager != nil {
			about = f.Manager.String() + ", "
		}
		fmt.Fprintf(w, "\n%s: %s%s\n", f.Rule, about, english.Plural(f.Objects, "object", ""))
		for _, example := range f.Examples {
			say(w, screen, "%s: %s", example.Ref, view.Safe(example.Message))
		}
		if more := f.Objects - len(f.Examples); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
		say(w, screen, "what to do: %s", view.Safe(f.ToDo()))
	}
}

// printContract prints what the contract allows and no manager owned.
func printContract(w io.Writer, c *Contract, screen view.Screen, wide bool) {
	if c == nil || len(c.Unowned) == 0 {
		return
	}
	if !wide {
		fmt.Fprintf(w, "\nNot owned by the manager that may, on any object here: %s of the contract (-o wide lists them)\n",
			english.Plural(len(c.Unowned), "path", ""))
		return
	}
	fmt.Fprintln(w, "\nNot owned by the manager that may, on any object here:")
	var rows [][]string
	for _, u := range c.Unowned {
		rows = append(rows, []string{view.Safe(u.Manager), string(u.Operation), view.Safe(u.Kind), view.Safe(u.Path)})
	}
	screen.Table(w, []string{"MANAGER", "OPERATION", "KIND", "PATH"}, rows)
}

func printOverlaps(w io.Writer, overlaps []Overlap, screen view.Screen, wide bool) {
	if len(overlaps) == 0 {
		return
	}
	fmt.Fprintln(w, "\nManagers that own fields together, as they have the same values. Who sets")
	fmt.Fprintln(w, "another value by Apply is in conflict, who does by Update takes the field. Most")
	fmt.Fprintln(w, "of it is wanted; where it is likely to cause trouble there is a finding.")
	var rows [][]string
	for i, o := range overlaps {
		if i == shownOverlaps && !wide {
			break
		}
		rows = append(rows, []string{
			o.Managers[0].String(), o.Managers[1].String(), strconv.Itoa(o.Fields), strconv.Itoa(o.Objects),
			view.Safe(o.Path) + " of " + view.Safe(o.Example.String()),
		})
	}
	header := []string{"MANAGER", "AND", "FIELDS", "OBJECTS", "EXAMPLE"}
	if screen.Width > 0 && screen.Width < roomy && !wide { // too little would be left of an example
		header = header[:4]
		for i := range rows {
			rows[i] = rows[i][:4]
		}
	}
	if wide {
		screen.Wide(w, header, rows)
	} else {
		screen.Table(w, header, rows)
	}
	if more := len(overlaps) - len(rows); more > 0 {
		fmt.Fprintf(w, "and %d more pairs (-o wide)\n", more)
	}
}
