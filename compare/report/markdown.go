package report

import (
	"fmt"
	"regexp"
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
	for _, a := range s.Answers {
		fmt.Fprintf(&out, "\n**%s** %s\n", plain(a.Question), plain(a.Text))
	}
	table(&out, "Your situation", []string{"your situation", "use this", "because"}, situationRows(s))
	table(&out, "Cells", []string{"cell", "goodput, ours against plain", "CPU of the API server, ours against plain", "fastest of all",
		"goodput, plain against the best other way"}, cellRows(p))
	table(&out, "Correctness", []string{"arm", "trials", "acknowledged", "lost", "most given up"}, lossRows(p.Losses))
	table(&out, "Systems", []string{"system", "published", "figure", "measured", "kind"}, systemRows(s))
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

func situationRows(s summary.Summary) [][]string {
	var rows [][]string
	for _, one := range s.Situations {
		rows = append(rows, []string{one.Situation, list(one.Use), one.Because})
	}
	return rows
}

// list returns the recommended arms as text. If there are several, none of them was shown to be better than the others.
func list(arms []string) string {
	if len(arms) == 0 {
		return "–"
	}
	return "`" + strings.Join(arms, "` or `") + "`"
}

// cellRows returns a table with one row for each cell. A row shows the cell's comparison in each of the three forest plots.
func cellRows(p page) [][]string {
	var rows [][]string
	at := func(f forest, cell string) forestRow {
		for _, r := range f.Rows {
			if r.Cell == cell {
				return r
			}
		}
		return forestRow{Text: summary.NA}
	}
	for _, r := range p.Forests["fastest"].Rows {
		cost, avoid := at(p.Forests["cost"], r.Cell), at(p.Forests["avoid"], r.Cell)
		against := avoid.Text + " " + avoid.Verdict
		if avoid.Against != "" {
			against = "`" + avoid.Against + "`: " + against
		}
		rows = append(rows, []string{
			r.Cell, r.Text + " " + r.Verdict, cost.Text + " " + cost.Verdict, strings.TrimPrefix(r.First, "fastest of all: "), against,
		})
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

func systemRows(s summary.Summary) [][]string {
	var rows [][]string
	for _, one := range s.Systems {
		claim := one.Claim
		if one.Contradiction != "" {
			claim += " (" + one.Contradiction + ")"
		}
		rows = append(rows, []string{one.Workload, claim, one.Claimed, one.Measured, one.Kind})
	}
	return rows
}

func table(out *strings.Builder, title string, columns []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(out, "\n## %s\n\n| %s |\n|%s\n", title, strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
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
