package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	subtest      = regexp.MustCompile(`\bt\.Run\("([^"]+)"`)
)

// TestAttacksAreHeld looks for the tests that the page of attacks names in each row.
func TestAttacksAreHeld(t *testing.T) {
	if attacks := checkHeldBy(t, "docs/security.md"); attacks < 30 {
		t.Errorf("there are %d attacks, want 30 at least", attacks)
	}
}

// TestRecipesAreHeld looks for the tests that the page of neighbours names for each recipe.
func TestRecipesAreHeld(t *testing.T) {
	if recipes := checkHeldBy(t, "docs/neighbours.md"); recipes < 15 {
		t.Errorf("there are %d recipes, want 15 at least", recipes)
	}
}

// checkHeldBy looks for the tests that the third cell of each row names, in tables of three columns whose last is "Held by".
func checkHeldBy(t *testing.T, page string) (rows int) {
	t.Helper()
	tests := testNames(t)
	inTable := false
	for line := range strings.Lines(proseOf(t, page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
			continue
		case len(cells) == 3 && strings.TrimSpace(cells[2]) == "Held by":
			inTable = true
			continue
		case !inTable || strings.Contains(cells[2], "---"):
			continue
		}
		rows++
		held := codeSpan.FindAllStringSubmatch(cells[2], -1)
		if len(held) == 0 {
			t.Errorf("%s: no test holds %q", page, strings.TrimSpace(cells[0]))
		}
		for _, span := range held {
			for part := range strings.SplitSeq(span[1], "/") {
				if !tests[part] {
					t.Errorf("%s: there is no test %s", page, part)
				}
			}
		}
	}
	return rows
}

func proseOf(t *testing.T, path string) string {
	t.Helper()
	for _, d := range documents(t) {
		if d.path == path {
			return d.prose
		}
	}
	t.Fatalf("there is no %s", path)
	return ""
}

// testNames has the tests of the tree, and the names of subtests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		for _, pattern := range []*regexp.Regexp{testFunction, subtest} {
			for _, found := range pattern.FindAllStringSubmatch(string(content), -1) {
				names[found[1]] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
