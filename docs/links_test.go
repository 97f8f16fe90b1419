package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestLinks follows the links to files of ours, and to headings in them.
func TestLinks(t *testing.T) {
	for _, d := range documents(t) {
		for _, found := range link.FindAllStringSubmatch(d.prose, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := filepath.Join(root, filepath.Dir(d.path), target)
			if target == "" {
				path = filepath.Join(root, d.path)
			}
			content, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
				err = nil
			}
			switch {
			case err != nil:
				t.Errorf("%s: the link to %s leads nowhere: %v", d.path, found[1], err)
			case anchor != "" && !hasHeading(string(content), anchor):
				t.Errorf("%s: %s has no heading for #%s", d.path, target, anchor)
			}
		}
	}
}

func hasHeading(content, anchor string) bool {
	for _, found := range heading.FindAllStringSubmatch(content, -1) {
		slug := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(found[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// ours are the folders that a code span may name a path in.
var ours = regexp.MustCompile(`^(\.ci|api|apply|cmd|compare|config|docs|examples|fieldowners|internal|test|tools)(/[\w./-]*)?$`)

// TestPathsExist looks for the files and folders that code spans name, and for
// make's targets.
func TestPathsExist(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents(t) {
		for _, span := range codeSpan.FindAllStringSubmatch(d.prose, -1) {
			if ours.MatchString(span[1]) {
				if _, err := os.Stat(filepath.Join(root, span[1])); err != nil {
					t.Errorf("%s: %v", d.path, err)
				}
			}
			if target, ok := strings.CutPrefix(span[1], "make "); ok && !strings.Contains(string(makefile), "\n"+target+":") {
				t.Errorf("%s: make has no target %s", d.path, target)
			}
		}
	}
}

// TestNothingOfAMachine keeps paths that exist on one machine out.
func TestNothingOfAMachine(t *testing.T) {
	local := regexp.MustCompile(`/(home|root|Users|tmp|work)/\w*`)
	for _, d := range documents(t) {
		content, err := os.ReadFile(filepath.Join(root, d.path))
		if err != nil {
			t.Fatal(err)
		}
		if found := local.Find(content); found != nil {
			t.Errorf("%s names %s", d.path, found)
		}
	}
}
