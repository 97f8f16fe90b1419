package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"strings"

	"coapply.dev/compare/results"
)

var (
	//go:embed page.css
	css string
	//go:embed *.html
	pages embed.FS
)

var pageTemplate = parse()

// parse puts the style into the frame. The style is part of the template, as nothing in it depends on data, and the
// policy allows nothing but it.
func parse() *template.Template {
	frame, err := pages.ReadFile("page.html")
	if err != nil {
		panic(err) // it is embedded
	}
	style := strings.Join(strings.Fields(css), " ")
	hash := sha256.Sum256([]byte(style))
	whole := strings.NewReplacer(
		"STYLE", style,
		"POLICY", "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(hash[:])+"'; form-action 'none'; base-uri 'none'",
	).Replace(string(frame))
	page := template.New("page").Funcs(template.FuncMap{"count": count, "plural": plural, "lower": strings.ToLower})
	page = template.Must(page.ParseFS(pages, "[a-o]*.html", "[q-z]*.html"))
	return template.Must(page.Parse(whole))
}

// HTML gives the page of a run. The same data gives the same bytes. It fails on trials whose latencies cannot be read.
func HTML(run results.Run, trials []results.Trial, r results.Results) ([]byte, error) {
	data, err := newPage(newBuilder(run, trials, r))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, data); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return visible(out.Bytes()), nil
}

// page is what the template shows.
type page struct {
	Title, Kicker string
	Facts         []fact
	Alerts        []alert
	Verdict       []fact
	ArmList       []fact
	Swatches      []swatch

	Maps      []heatmap
	Elsewhere table

	Correctness, CorrectnessByWorkload, Violations, VoidTrials table
	Hypotheses, Claims, Against                                table

	Workloads []workloadSection
	Forests   []forest
	Model     *modelSection

	Environment      []fact
	Versions, Flags  table
	Method           []string
	Design           table
	Sources, Objects []listing
	Checks           table
	CheckCounts      string
	Command          string
	Seed             uint64
	Took             string
	Glossary         []fact
	EveryCell        []table
	Files            []fact
}

// alert is what must not be missed: a banner above everything.
type alert struct{ Head, Text string }

func newPage(b *builder) (page, error) {
	p := page{
		Title: b.title(), Kicker: "Server-Side Apply against get-modify-update", Facts: b.facts(), Alerts: b.alerts(), Verdict: b.verdict(),
		ArmList: b.armList(), Elsewhere: b.elsewhere(), Correctness: b.correctness(), CorrectnessByWorkload: b.correctnessByWorkload(),
		Violations: b.violations(), VoidTrials: b.voidTrials(), Hypotheses: b.hypotheses(), Claims: b.claims(), Against: b.against(),
		Forests: b.forests(), Environment: b.environment(), Versions: b.versions(), Flags: b.flags(), Method: b.method(), Design: b.design(),
		Sources: b.sources(), Objects: b.objects(), Checks: b.checks(), CheckCounts: b.checkCounts(),
		Command: b.run.Command, Seed: b.run.Seed, Took: b.ended(), Glossary: glossary, EveryCell: b.everyCell(), Files: files,
	}
	p.Maps = b.heatmaps()
	var err error
	if p.Swatches, err = swatches(b.palette); err != nil {
		return page{}, err
	}
	if p.Workloads, err = b.workloads(); err != nil {
		return page{}, err
	}
	p.Model, err = b.model()
	return p, err
}

// files are those beside the report in its folder.
var files = []fact{
	{"run.json", "what was to be done, and where it ran"},
	{"trials.jsonl", "every trial as it was measured, a line each"},
	{"results.json", "everything that this page shows, reckoned from the two"},
	{"results.csv", "a row for each arm in each cell"},
	{"results.bench", "for benchstat"},
	{"report.md", "this report in short"},
}
