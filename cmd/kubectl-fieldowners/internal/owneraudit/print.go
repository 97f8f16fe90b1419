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

// Print writes the managers and the findings of a report as human-readable text.
func Print(w io.Writer, r Report, screen view.Screen, wide bool) {
	if len(r.Managers) == 0 {
		return
	}
	printManagers(w, r.Managers, screen, wide)
	printFindings(w, r.Findings, screen)
}

func printManagers(w io.Writer, managers []ManagerRow, screen view.Screen, wide bool) {
	header := []string{"MANAGER", "OBJECTS", "FIELDS", "SHARED", "LAST WRITE", "BYTES"}
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
			m.Manager.String(), strconv.Itoa(m.Objects), strconv.Itoa(m.Fields), strconv.Itoa(m.Shared),
			view.Age(last, screen.Now), strconv.Itoa(m.Bytes),
		}
		if wide {
			row = append(row, kindsText(m.Kinds), view.Safe(strings.Join(m.APIVersions, ",")))
		}
		rows = append(rows, row)
	}
	screen.Table(w, header, rows)
}

// say writes an indented and wrapped sentence.
func say(w io.Writer, screen view.Screen, format string, args ...any) {
	fmt.Fprintln(w, view.Wrap(fmt.Sprintf(format, args...), "  ", screen.Width))
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
