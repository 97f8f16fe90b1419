package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
)

// TestAdoptingIsTwoLines holds the difference that docs/adopting.md shows to the two
// programs of examples/dropin: beside imports and an error check, one line becomes two.
func TestAdoptingIsTwoLines(t *testing.T) {
	read := func(folder string) []byte {
		content, err := os.ReadFile(filepath.Join(root, "examples", "dropin", folder, "shop.go"))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	var changed, added, removed []string
	for line := range strings.Lines(string(diff.Diff("before", read("before"), "after", read("after")))) {
		text := strings.TrimSpace(strings.TrimLeft(line, "+-"))
		switch {
		case strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "---") || !strings.HasPrefix(line, "+") && !strings.HasPrefix(line, "-"),
			text == "" || strings.HasPrefix(text, `"`): // an import
			continue
		case text == "if err != nil {" || text == "return err" || text == "}":
		case line[0] == '+':
			added = append(added, text)
		default:
			removed = append(removed, text)
		}
		changed = append(changed, line)
	}
	if len(added) != 2 || len(removed) != 1 {
		t.Errorf("added %q, removed %q; want two lines for one", added, removed)
	}
	shown := 0
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if d.path != "docs/adopting.md" || b.language != "diff" {
				continue
			}
			shown++
			if want := strings.Join(changed, ""); b.text != want {
				t.Errorf("%s:%d: the difference is\n%s", d.path, b.line, want)
			}
		}
	}
	if shown != 1 {
		t.Errorf("%d differences shown", shown)
	}
}

// TestWiringIsShort: what stands beside Emit, a finalizer and a status wired, is twenty
// lines at most.
func TestWiringIsShort(t *testing.T) {
	content, err := os.ReadFile(filepath.Join(root, "examples", "website", "setup.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(content), "\nfunc Setup(")
	wiring, _, ended := strings.Cut(rest, "\n// Run runs")
	if lines := strings.Count(wiring, "\n"); !found || !ended || lines > 20 {
		t.Errorf("the wiring is %d lines", lines)
	}
}
