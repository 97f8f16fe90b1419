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

// Print writes a report for people to read: managers and findings.
func Print(w io.Writer, r Report, screen view.Screen, wide bool) {
	if len(r.Managers) == 0 {
		return
	}
	printManagers(w, r.Managers, screen, wide)
	printFindings(w, r.Findings, screen)
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
		screen.Table(w, header, rows)
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
