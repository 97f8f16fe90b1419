// Package report writes the report of a run: a self-contained HTML page for a design review, and a Markdown
// text with the same content.
//
// Its functions have no side effects: equal data gives equal bytes. The page needs no network and runs no script, which
// its Content-Security-Policy enforces. Names, errors and values in the data come from users' arms, workloads and objects.
// They are inserted only by html/template, as text. A value that was not measured is shown as "n/a", and never as 0.
package report

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string

	pageTemplate = parse()
)

// parse returns the template of the page, with the style sheet in it. The Content-Security-Policy permits only
// this style sheet, by its hash.
func parse() *template.Template {
	style := strings.Join(strings.Fields(pageCSS), " ")
	hash := sha256.Sum256([]byte(style))
	whole := strings.NewReplacer(
		"STYLE", style,
		"POLICY", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'; form-action 'none'; base-uri 'none'",
	).Replace(pageHTML)
	return template.Must(template.New("page").Funcs(template.FuncMap{"marked": marked, "cut": cut}).Parse(whole))
}

var name = regexp.MustCompile("`([^`]*)`")

// marked returns the text as HTML. Names in backticks become code elements.
func marked(text string) template.HTML {
	escaped := template.HTMLEscapeString(cut(text))
	return template.HTML(name.ReplaceAllString(escaped, "<code>$1</code>")) //nolint:gosec // escaped above
}

// maxText is the maximum number of characters of a text that are shown. An error may contain a whole object.
const maxText = 1000

// cut shortens the text to maxText characters, and appends the number of removed characters.
func cut(text string) string {
	runes := []rune(text)
	if len(runes) <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%s more characters)", string(runes[:maxText]), summary.Count(len(runes)-maxText))
}

// visible replaces characters that a page must not contain: control characters, and characters that change the direction of writing.
func visible(text []byte) []byte {
	return []byte(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, string(text)))
}

// HTML returns the report of a run as an HTML page.
func HTML(run results.Run, s summary.Summary) ([]byte, error) {
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, newPage(run, s)); err != nil {
		return nil, fmt.Errorf("executing the template of the report: %w", err)
	}
	return visible(out.Bytes()), nil
}

// page is the data of the templates page.html and page.md.tmpl.
type page struct {
	summary.Summary
	Scope      string
	Square     decided.Square
	Situations []situation
	Texts      map[string]string // the answers to the questions after the first, by name
	Forests    []forest
	Losses     []lossRow
	Contested  []contestedRow
	Failed     []summary.Check // the first screen names only these; the section about the method has all checks
	Method     []fact
	Arms       []results.ArmInfo
	Decided    string
}

type fact struct{ Name, Text string }

func newPage(run results.Run, s summary.Summary) page {
	p := page{
		Summary: s, Scope: scope(run, s), Square: decided.Now.Square, Situations: newSituations(s), Texts: map[string]string{},
		Losses: losses(s), Contested: contestedRows(s), Method: method(run, s), Arms: run.Arms, Decided: decided.Text(),
	}
	for _, a := range s.Answers {
		p.Texts[a.Name] = a.Text
	}
	for _, c := range s.Checks {
		if c.State == "failed" {
			p.Failed = append(p.Failed, c)
		}
	}
	for _, family := range decided.Now.Comparisons {
		if f := newForest(s, family); len(f.Rows) > 0 {
			p.Forests = append(p.Forests, f)
		}
	}
	return p
}

// Names of the measures that the charts show.
const (
	goodput   = "goodput_per_s"
	serverCPU = "apiserver_cpu_ms_per_intent"
)

// scope returns a line for the head of the report: versions, cores, number of trials and date.
func scope(run results.Run, s summary.Summary) string {
	e := run.Environment
	parts := []string{"Kubernetes " + cmp.Or(e.Server, summary.NA), "etcd " + cmp.Or(e.Etcd, summary.NA) + ", fsync " + cmp.Or(e.EtcdFsync, summary.NA)}
	cores := fmt.Sprintf("%d cores", e.Cores)
	if len(e.ServerCores) > 0 && len(e.GeneratorCores) > 0 {
		cores += fmt.Sprintf(" (%d for the servers, %d for the writers)", len(e.ServerCores), len(e.GeneratorCores))
	}
	parts = append(parts, cores, summary.Count(s.Run.Trials)+" trials", run.Started.UTC().Format("2006-01-02"))
	return strings.Join(append(parts, cmp.Or(run.Profile, summary.NA)+" run"), " · ")
}

// lossRow is a row of the table of losses: one arm, over all cells.
type lossRow struct {
	Arm          string
	Trials       int
	Acknowledged string
	Lost         string
	GaveUp       string
	Class        string
}

// losses returns the rows of the table of losses. Each row shows an arm's number of lost updates over all cells, and
// the arm's highest share of given-up intents in a cell.
func losses(s summary.Summary) []lossRow {
	var rows []lossRow
	for _, arm := range armsOf(s.Rows) {
		row := lossRow{Arm: arm, Lost: "0"}
		lost, acknowledged, worst := 0, 0, 0.0
		var where []string
		for _, r := range s.Rows {
			if r.Arm != arm || r.AA || r.Control {
				continue
			}
			row.Trials, acknowledged, lost = row.Trials+r.Trials, acknowledged+r.Acknowledged, lost+r.LostUpdates
			if r.LostUpdates > 0 && !slices.Contains(where, r.Workload) {
				where = append(where, r.Workload)
			}
			if share := r.Measures["give_up_share"].Mean; share > worst && r.Workload != contestedField { // which has a table of its own
				worst, row.GaveUp = share, summary.Percent(share)+" ("+summary.Phrase(r.Cell)+")"
			}
		}
		if row.Acknowledged = summary.Count(acknowledged); lost > 0 {
			row.Lost, row.Class = summary.Count(lost)+" ("+strings.Join(where, ", ")+")", "worse"
		} else if _, upper, ok := statistics.Proportion(0, row.Trials); ok {
			row.Lost = "0 (95 % bound: " + summary.Percent(upper) + " of trials)"
		}
		rows = append(rows, row)
	}
	return rows
}

// armsOf returns the names of the arms in these rows, without duplicates and without negative controls.
func armsOf(rows []summary.Row) []string {
	var arms []string
	for _, r := range rows {
		if !r.Control && !slices.Contains(arms, r.Arm) {
			arms = append(arms, r.Arm)
		}
	}
	return arms
}

// method returns the facts about a run for the section about the method.
func method(run results.Run, s summary.Summary) []fact {
	e := run.Environment
	pinned := "not pinned: " + cmp.Or(e.Unpinned, summary.NA)
	if len(e.ServerCores) > 0 {
		pinned = fmt.Sprintf("API server and etcd on cores %v, writers on %v", e.ServerCores, e.GeneratorCores)
	}
	fsync := summary.NA
	if e.FsyncP50 != nil && e.FsyncP99 != nil {
		fsync = fmt.Sprintf("%s (p50), %s (p99)", *e.FsyncP50, *e.FsyncP99)
	}
	return []fact{
		{"Repeat the run", run.Command},
		{"Trials", fmt.Sprintf("%s of %s planned, %s void; in each block the arms of a cell run one after the other, in an order that changes from block to block (seed %d)",
			summary.Count(s.Run.Trials), summary.Count(s.Run.Planned), summary.Count(s.Run.VoidTrials), run.Seed)},
		{"Comparison", fmt.Sprintf("geometric mean of the ratios within blocks, with Student's 95 %% interval; better or worse: the ratio is beyond the margin "+
			"(%s in the 2×2, %s elsewhere); equivalent: the ratio is within the margin; p-values are adjusted by Holm's method for all cells of a question",
			summary.Percent(decided.Now.Margins.Square), summary.Percent(decided.Now.Margins.Other))},
		{"Cores", pinned},
		{"Machine", fmt.Sprintf("%s, %s, kernel %s, limits %s", cmp.Or(e.CPU, summary.NA), e.OS, cmp.Or(e.Kernel, summary.NA), cmp.Or(e.Limits, summary.NA))},
		{"Disk", fmt.Sprintf("%s, a write of 4 KiB with fsync takes %s", cmp.Or(e.FileSystem, summary.NA), fsync)},
		{"User", fmt.Sprintf("%s in the groups %s, no client-side rate limit", cmp.Or(e.User, summary.NA), cmp.Or(strings.Join(e.Groups, ", "), summary.NA))},
		{"Commit", fmt.Sprintf("%s, %s", cmp.Or(e.Commit, summary.NA), cmp.Or(e.Go, summary.NA))},
		{"decided.yaml", "sha256 " + s.Run.Decided},
	}
}
