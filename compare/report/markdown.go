package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// Markdown returns the report of a run as Markdown.
func Markdown(run results.Run, s summary.Summary) []byte {
	var out strings.Builder
	p := newPage(run, s)
	fmt.Fprintf(&out, "# %s\n\n%s\n", plain(p.Title), plain(p.Scope))
	if s.Void != "" {
		fmt.Fprintf(&out, "\n> **This run is void: none of its results count.** %s\n", plain(s.Void))
	}
	for _, note := range s.Notes {
		fmt.Fprintf(&out, "\n> %s\n", plain(note))
	}
	for _, one := range p.Situations {
		fmt.Fprintf(&out, "\n## %s\n\n", plain(one.Name))
		for _, sentence := range one.Answer {
			fmt.Fprintf(&out, "- %s\n", plain(sentence))
		}
		table(&out, "", []string{"round trip", "turns", "get-modify-update", "Server-Side Apply", "Server-Side Apply : get-modify-update", "the same for CPU"}, halfRows(one))
	}
	for _, a := range s.Answers {
		fmt.Fprintf(&out, "\n**%s** %s\n", plain(a.Question), plain(a.Text))
	}
	for _, f := range p.Forests {
		table(&out, f.Title, []string{"cell", "ratio", "verdict"}, forestRows(f))
	}
	table(&out, "Correctness", []string{"arm", "trials", "acknowledged", "lost", "most given up"}, lossRows(p.Losses))
	table(&out, "What does a contested field cost?", []string{"arm", "writes that landed", "rejected or given up", "requests for a write", "median time", "whose value stays"}, contestedCells(p.Contested))
	fmt.Fprintf(&out, "\n## Method\n\n")
	for _, f := range p.Method {
		fmt.Fprintf(&out, "- %s: %s\n", f.Name, plain(f.Text))
	}
	fmt.Fprintf(&out, "- Checks: %d of %d failed\n", len(p.Failed), len(s.Checks))
	for _, c := range p.Failed {
		fmt.Fprintf(&out, "  - %s\n", plain(fmt.Sprintf("%s (%s): %s", c.Name, c.Threat, c.Seen)))
	}
	return visible([]byte(out.String()))
}

func halfRows(s situation) [][]string {
	var rows [][]string
	for turns, halves := range map[string][]half{"no": s.Alone, "yes": s.Turns} {
		for _, h := range halves {
			rows = append(rows, []string{h.RTT, turns, h.GMU, h.SSA, h.Ratio + " " + h.Verdict, h.CPU})
		}
	}
	slices.SortStableFunc(rows, func(a, b []string) int { return strings.Compare(a[1], b[1]) })
	return rows
}

func forestRows(f forest) [][]string {
	var rows [][]string
	for _, r := range f.Rows {
		rows = append(rows, []string{r.Cell, r.Text, r.Verdict})
	}
	return rows
}

func lossRows(losses []lossRow) [][]string {
	var rows [][]string
	for _, l := range losses {
		rows = append(rows, []string{"`" + l.Arm + "`", summary.Count(l.Trials), l.Acknowledged, l.Lost, l.GaveUp})
	}
	return rows
}

func contestedCells(rows []contestedRow) [][]string {
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{"`" + r.Arm + "`", r.Landed, r.Rejected, r.Requests, r.Median, r.Owner})
	}
	return cells
}

func table(out *strings.Builder, title string, columns []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	if title != "" {
		fmt.Fprintf(out, "\n## %s\n", plain(title))
	}
	fmt.Fprintf(out, "\n| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for _, row := range rows {
		for i := range row {
			row[i] = strings.ReplaceAll(plain(row[i]), "|", `\|`)
		}
		fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | "))
	}
}

var (
	special = regexp.MustCompile("[<>\\[\\]*_\\\\#&`]")
	code    = regexp.MustCompile("`[A-Za-z0-9 ._-]+`")
)

// plain escapes a text so that Markdown shows it unchanged. Names in backticks remain code.
func plain(text string) string {
	text = strings.Join(strings.Fields(cut(text)), " ")
	var out strings.Builder
	at := 0
	for _, span := range code.FindAllStringIndex(text, -1) {
		out.WriteString(special.ReplaceAllString(text[at:span[0]], `\$0`))
		out.WriteString(text[span[0]:span[1]])
		at = span[1]
	}
	out.WriteString(special.ReplaceAllString(text[at:], `\$0`))
	return out.String()
}
