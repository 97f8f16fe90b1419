package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/compare"
	"coapply.dev/compare/report"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
	"coapply.dev/compare/summary/summarytest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// elements are what a page may consist of: nothing that runs, loads or submits.
var elements = strings.Fields(`html head meta title style body svg rect g text polyline line circle main header
	section figure figcaption h1 h2 h3 p dl dt dd div table thead tbody tr th td a code pre span b br strong details summary`)

// files are the addresses outside of the page.
var files = []string{"run.json", "trials.jsonl", "results.jsonl", "results.bench", "report.md"}

// page returns the page of a run, after checks that every page must pass.
func page(t *testing.T, run results.Run, s summary.Summary) string {
	t.Helper()
	html, err := report.HTML(run, s)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, string(html))
	return string(html)
}

func markdown(t *testing.T, run results.Run, s summary.Summary) string {
	t.Helper()
	text, err := report.Markdown(run, s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkPage parses a page as strictly as XML, and holds it to the elements, attributes and addresses that a
// self-contained page has.
func checkPage(t *testing.T, html string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(html))
	ids, wanted := map[string]bool{}, map[string]bool{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		if start, is := token.(xml.StartElement); is {
			checkElement(t, start, ids, wanted)
		}
	}
	for id := range wanted {
		if !ids[id] {
			t.Errorf("there is no id %q", id)
		}
	}
	_, style, _ := strings.Cut(html, "<style>")
	style, _, _ = strings.Cut(style, "</style>")
	if strings.Contains(style, "@import") || strings.Contains(style, "url(") {
		t.Errorf("a style that loads something: %q", style)
	}
	hash := sha256.Sum256([]byte(style))
	if policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]); !strings.Contains(html, policy) {
		t.Errorf("the policy does not allow the page's own style, want %s", policy)
	}
	for _, broken := range []string{"NaN", "+Inf", "%!", "ZgotmplZ"} {
		if strings.Contains(html, broken) {
			t.Errorf("the page has %q", broken)
		}
	}
	if len(html) > 300<<10 {
		t.Errorf("%d bytes", len(html))
	}
}

func checkElement(t *testing.T, start xml.StartElement, ids, wanted map[string]bool) {
	t.Helper()
	if !slices.Contains(elements, start.Name.Local) {
		t.Errorf("element %s", start.Name.Local)
	}
	for _, a := range start.Attr {
		switch name := a.Name.Local; {
		case strings.HasPrefix(name, "on") || name == "style" || name == "src":
			t.Errorf("attribute %s=%q of %s", name, a.Value, start.Name.Local)
		case name == "href" && strings.HasPrefix(a.Value, "#"):
			wanted[a.Value[1:]] = true
		case name == "href" && !slices.Contains(files, a.Value):
			t.Errorf("address %q", a.Value)
		case name == "id" && ids[a.Value]:
			t.Errorf("id %q twice", a.Value)
		case name == "id":
			ids[a.Value] = true
		}
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q", part)
		}
	}
}

func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("the report has %q", part)
		}
	}
}

// sample is the run that is made up.
func sample() (results.Run, summary.Summary) {
	run, trials := summarytest.Run(blocks)
	return run, summary.Of(run, trials)
}

// blocks of the run that is made up.
const blocks = 8

// TestGolden shows what a report consists of: go test ./report -update, then look at testdata/report.html in a browser.
func TestGolden(t *testing.T) {
	run, s := sample()
	html, text := page(t, run, s), markdown(t, run, s)
	// The decisions and their hash change with every word of that file.
	anonymous := strings.NewReplacer(s.Run.Decided, "HASH", s.Run.Decided[:12], "HASH")
	html = regexp.MustCompile(`(?s)(decided.yaml</summary><pre>).*?(</pre>)`).ReplaceAllString(html, "$1$2")
	for name, got := range map[string]string{"report.html": anonymous.Replace(html), "report.md": anonymous.Replace(text)} {
		file := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got), rewritten by -update:\n%s", file, diff)
		}
	}
	if lines := strings.Count(text, "\n"); lines > 160 {
		t.Errorf("report.md has %d lines: more than four pages", lines)
	}
}

// TestSame: the same data gives the same bytes.
func TestSame(t *testing.T) {
	run, s := sample()
	first, _ := report.HTML(run, s)
	text := markdown(t, run, s)
	for range 2 {
		run, s = sample()
		again, err := report.HTML(run, s)
		if err != nil || !bytes.Equal(first, again) || text != markdown(t, run, s) {
			t.Fatalf("%v, or other bytes", err)
		}
	}
}

// TestFirstScreen has the 2×2 before everything else.
func TestFirstScreen(t *testing.T) {
	run, s := sample()
	html := page(t, run, s)
	at := -1
	for _, part := range []string{
		`class="scope"`, "Four processes, one object", "Without turns", "With turns", "One process with four writers, one object", "64 objects",
		`id="lost"`, `id="avoid"`, `id="coapply"`, `class="forest"`, `id="method"`, `id="checks"`,
	} {
		next := strings.Index(html[at+1:], part) + at + 1
		if next <= at {
			t.Errorf("%q is missing, or too early", part)
		}
		at = next
	}
	if tables := strings.Count(html, `class="square"`); tables != 6 {
		t.Errorf("%d tables of the 2×2", tables)
	}
}

// TestNothing: a run without anything has a report, which says so.
func TestNothing(t *testing.T) {
	s := summary.Of(results.Run{}, nil)
	has(t, page(t, results.Run{}, s), "This run is void", "n/a", "no cell of the 2×2", "No answer: the run is void.")
	has(t, markdown(t, results.Run{}, s), "This run is void")
}

// TestSaid: what a reader must know stands at the top, and a cell without a verdict says why in its own row.
func TestSaid(t *testing.T) {
	run, trials := summarytest.Run(blocks)
	run.Decided = "feed"
	for i := range trials {
		if tr := &trials[i]; tr.Arm == "apply" && tr.Cell.String() == "hot-object w16 m4" {
			tr.Load.Bottleneck = "generator"
		}
	}
	s := summary.Of(run, trials)
	html, text := page(t, run, s), markdown(t, run, s)
	has(t, html, "Exploratory: the decided.yaml of the run (feed)", `Checks that failed: <a href="#checks">decided</a>`)
	has(t, html, "no verdict: apply: the load generator is the bottleneck, in 8 of 8 trials")
	has(t, text, "> Exploratory", "no verdict: apply: the load generator is the bottleneck")
	first, _, _ := strings.Cut(html, `id="lost"`)
	hasNot(t, first, "bottleneck, in 8 of 8")
}

// TestHostile: names and errors are text, wherever they come from.
func TestHostile(t *testing.T) {
	const evil = "</td><script>alert(1)</script>`|\x1b[31m\x00\u202e](javascript:alert(1))"
	run, _ := sample()
	run.Command, run.Profile, run.Environment.CPU, run.Environment.Server = evil, evil, evil, evil
	run.Arms = []results.ArmInfo{{Name: evil, Summary: strings.Repeat(evil, 100)}}
	e := statistics.Estimate{Mean: 1}
	cell := compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{Writers: 1, Managers: 1}}
	s := summary.Summary{
		Void: evil, Notes: []string{evil}, Answers: []summary.Answer{{Name: "lost", Question: evil, Text: evil}},
		Rows:        []summary.Row{{Name: evil, Cell: cell, Arm: evil, LostUpdates: 1, Measures: map[string]statistics.Estimate{"goodput_per_s": e, "give_up_share": e}}},
		Comparisons: []summary.Comparison{{Family: "coapply", Cell: evil, Arm: evil, Against: evil, Measure: "goodput_per_s", Ratio: 1, Lo: 1, Hi: 1, Verdict: "no verdict", Why: evil}},
		Squares:     []summary.Square{{Situation: evil, Answer: []string{evil}, Rows: []summary.SquareRow{{Cell: evil}}}},
		Checks:      []summary.Check{{Name: evil, Threat: evil, State: "failed", Seen: evil}},
	}
	html := page(t, run, s)
	hasNot(t, html, "<script", "\x1b", "\x00", "\u202e")
	has(t, html, "more characters)")
	text := markdown(t, run, s)
	hasNot(t, text, "\x1b", "\x00", "\u202e")
	if link := regexp.MustCompile(`[^\\]\]\(javascript|[^\\]<script`).FindString(text); link != "" {
		t.Errorf("report.md has %q", link)
	}
}

// TestNumbersThatAreNone: data made by hand may hold what no trial measures.
func TestNumbersThatAreNone(t *testing.T) {
	run, made := sample()
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, -1, math.MaxFloat64, math.SmallestNonzeroFloat64} {
		s := made
		s.Rows, s.Comparisons = slices.Clone(made.Rows), slices.Clone(made.Comparisons)
		for i := range s.Rows {
			s.Rows[i].Measures = map[string]statistics.Estimate{"goodput_per_s": {Mean: v, Lo: &v, Hi: &v}, "give_up_share": {Mean: v}}
		}
		for i := range s.Comparisons {
			s.Comparisons[i].Ratio, s.Comparisons[i].Lo, s.Comparisons[i].Hi = v, v, v
		}
		page(t, run, s)
	}
}
