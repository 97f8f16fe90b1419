package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
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
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// about is of a page that is always the same.
func about() page.About {
	return page.About{Version: "kubectl fieldowners v1.2.3", Time: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC), Source: "web.yaml"}
}

func object(t *testing.T, text string) page.Shown {
	t.Helper()
	var content map[string]any
	if err := yaml.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return page.Shown{Object: view.New(content)}
}

// objectOfJSON reads what YAML has no simple way to write.
func objectOfJSON(t *testing.T, text string) page.Shown {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal([]byte(text), &content); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return page.Shown{Object: view.New(content)}
}

// pageOf returns the page of objects, after checks that every page must pass.
func pageOf(t *testing.T, about page.About, objects ...page.Shown) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Objects(&out, about, objects); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// elements are what a page may consist of: nothing that runs, loads or submits.
var elements = strings.Fields(`html head meta title style body svg defs pattern rect g text main header footer nav section
	h1 h2 h3 p dl dt dd div table thead tbody tr th td a ol ul li code span i b strong label input details summary`)

// checkPage parses a page as strictly as XML, and holds it to the elements, attributes
// and addresses that a self-contained page has.
func checkPage(t *testing.T, html string) {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(html))
	ids := map[string]bool{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		start, is := token.(xml.StartElement)
		if !is {
			continue
		}
		if !slices.Contains(elements, start.Name.Local) {
			t.Errorf("element %s", start.Name.Local)
		}
		for _, a := range start.Attr {
			name := a.Name.Local
			if strings.HasPrefix(name, "on") || name == "style" || name == "src" || name == "href" && !strings.HasPrefix(a.Value, "#object-") {
				t.Errorf("attribute %s=%q of %s", name, a.Value, start.Name.Local)
			}
			if name == "id" && ids[a.Value] {
				t.Errorf("id %q twice", a.Value)
			}
			ids[a.Value] = ids[a.Value] || name == "id"
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
}

// golden compares a page, but for the style and its hash, with a file.
func golden(t *testing.T, name, html string) {
	t.Helper()
	html = regexp.MustCompile(`<style>.*</style>`).ReplaceAllString(html, "<style></style>")
	html = regexp.MustCompile(`sha256-[^']*'`).ReplaceAllString(html, "sha256-'")
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(html), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), html); diff != "" {
		t.Errorf("%s (-want +got), rewritten by -update:\n%s", file, diff)
	}
}

// has checks what a page says.
func has(t *testing.T, html string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(html, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
}

// hasNot checks what a page does not say.
func hasNot(t *testing.T, html string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(html, text) {
			t.Errorf("the page has %q", text)
		}
	}
}
