package report_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/compare/report"
	"coapply.dev/compare/results"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// page gives the page of a run, after checks that every page must pass.
func page(t *testing.T, run results.Run, trials []results.Trial, r results.Results) string {
	t.Helper()
	html, err := report.HTML(run, trials, r)
	if err != nil {
		t.Fatal(err)
	}
	checkPage(t, string(html))
	return string(html)
}

func markdown(t *testing.T, run results.Run, trials []results.Trial, r results.Results) string {
	t.Helper()
	text, err := report.Markdown(run, trials, r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// elements are what a page may consist of: nothing that runs, loads or submits.
var elements = strings.Fields(`html head meta title style body svg defs symbol use pattern rect g text path line circle desc main header footer
	nav section article figure figcaption h1 h2 h3 p dl dt dd div table caption thead tbody tr th td a ol ul li code pre span b strong details summary`)

// files are the addresses outside of the page.
var files = []string{"run.json", "trials.jsonl", "results.json", "results.csv", "results.bench", "report.md"}

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
	if strings.Contains(style, "@import") || strings.Contains(strings.ReplaceAll(style, "url(#hatch)", ""), "url(") {
		t.Errorf("a style that loads something: %q", style)
	}
	hash := sha256.Sum256([]byte(style))
	if policy := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(hash[:]); !strings.Contains(html, policy) {
		t.Errorf("the policy does not allow the page's own style, want %s", policy)
	}
	if len(html) > 2<<20 {
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
		case name == "aria-labelledby":
			for id := range strings.FieldsSeq(a.Value) {
				wanted[id] = true
			}
		case name == "id" && ids[a.Value]:
			t.Errorf("id %q twice", a.Value)
		case name == "id":
			ids[a.Value] = true
		}
	}
}

// golden compares a report, but for the style and its hash, with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	text = regexp.MustCompile(`(?s)<style>.*</style>`).ReplaceAllString(text, "<style></style>")
	text = regexp.MustCompile(`sha256-[^']*'`).ReplaceAllString(text, "sha256-'")
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("%s (-want +got), rewritten by -update:\n%s", file, diff)
	}
}

// has checks what a report says.
func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the report lacks %q", part)
		}
	}
}

// hasNot checks what a report does not say.
func hasNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("the report has %q", part)
		}
	}
}

// TestGolden shows what a report consists of.
func TestGolden(t *testing.T) {
	run, trials, r := fixture(t)
	golden(t, "report.html", page(t, run, trials, r))
	golden(t, "report.md", markdown(t, run, trials, r))
}

// TestSame: the same data gives the same bytes, and is left as it was.
func TestSame(t *testing.T) {
	run, trials, r := fixture(t)
	for range 5 {
		for _, render := range []func(results.Run, []results.Trial, results.Results) ([]byte, error){report.HTML, report.Markdown} {
			first, err := render(run, trials, r)
			if err != nil {
				t.Fatal(err)
			}
			second, err := render(fixture(t))
			if err != nil || !bytes.Equal(first, second) {
				t.Fatalf("%v, or other bytes", err)
			}
		}
	}
}
