package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const attacksPage = "docs/security.md"

var (
	testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	subtest      = regexp.MustCompile(`\bt\.Run\("([^"]+)"`)
)

// TestAttacksAreHeld looks for the tests that the page of attacks names in each row.
func TestAttacksAreHeld(t *testing.T) {
	tests := testNames(t)
	attacks := 0
	for line := range strings.Lines(proseOf(t, attacksPage)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 3 || strings.Contains(cells[2], "---") || strings.TrimSpace(cells[2]) == "Held by" {
			continue
		}
		attacks++
		held := codeSpan.FindAllStringSubmatch(cells[2], -1)
		if len(held) == 0 {
			t.Errorf("%s: no test holds %q", attacksPage, strings.TrimSpace(cells[0]))
		}
		for _, span := range held {
			for part := range strings.SplitSeq(span[1], "/") {
				if !tests[part] {
					t.Errorf("%s: there is no test %s", attacksPage, part)
				}
			}
		}
	}
	if attacks < 30 {
		t.Errorf("%s has %d attacks, want 30 at least", attacksPage, attacks)
	}
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
