// Package docs_test keeps what the documents say true: commands run, Go compiles,
// links lead somewhere, and names exist.
package docs_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root of the checkout, from this folder.
const root = ".."

// document is one Markdown file.
type document struct {
	path   string // from root
	prose  string // without its blocks
	blocks []block
}

// block is a fenced one.
type block struct {
	language string
	line     int // of its first line
	text     string
}

// documents are all that a person reads first.
func documents(t *testing.T) []document {
	t.Helper()
	var paths []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	if len(paths) < 10 {
		t.Fatalf("only %v: where are the documents?", paths)
	}
	var all []document
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, parse(t, name, string(content)))
	}
	return all
}

func parse(t *testing.T, path, content string) document {
	t.Helper()
	d := document{path: path}
	var open *block
	for i, line := range strings.Split(content, "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open == nil:
			open = &block{language: fence, line: i + 2}
		case isFence:
			d.blocks = append(d.blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			d.prose += line + "\n"
		}
	}
	if open != nil {
		t.Fatalf("%s:%d: this block has no end", path, open.line)
	}
	return d
}

// TestBlocks leaves no block out: each is Go, commands, a difference
// (TestAdoptingIsTwoLines), or text for the eye.
func TestBlocks(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			switch b.language {
			case "go", "sh", "text", "diff":
			default:
				t.Errorf("%s:%d: %q blocks are not tested: use go, sh, diff or text", d.path, b.line, b.language)
			}
		}
	}
}

// TestReadmeSetsUpWithTwoCommands holds the first block to what a newcomer types.
func TestReadmeSetsUpWithTwoCommands(t *testing.T) {
	for _, d := range documents(t) {
		if d.path != "README.md" {
			continue
		}
		if first := slices.IndexFunc(d.blocks, func(b block) bool { return b.language == "sh" }); first < 0 || d.blocks[first].text != "make demo\nmake test\n" {
			t.Errorf("the first commands of README.md are those of block %d", first)
		}
	}
}

// TestReadmeIsRead: a README has the length that one reads, and the error that it begins
// with is one that the demo prints.
func TestReadmeIsRead(t *testing.T) {
	texts := map[string]string{}
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			texts[d.path] += strings.Join(strings.Fields(b.text), " ") + "\n"
		}
	}
	shown, _, _ := strings.Cut(texts["README.md"], "\n")
	if !strings.Contains(texts["docs/demo.md"], shown) {
		t.Errorf("the demo does not print what the README begins with: %s", shown)
	}
	content, err := os.ReadFile(filepath.Join("..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(content), "\n"); lines > 150 {
		t.Errorf("README.md has %d lines, want 150 at most", lines)
	}
}

// tour is run against a real API server by test/integration.
const tour = "docs/fieldowners.md"

// TestCommands knows four kinds of block: make targets, which make itself looks up,
// those of the tour, the benchmark's, and the commands of a user of the library,
// which run.
func TestCommands(t *testing.T) {
	for _, d := range documents(t) {
		for _, b := range d.blocks {
			if b.language != "sh" {
				continue
			}
			switch {
			case strings.HasPrefix(b.text, "make"):
				checkTargets(t, d, b)
			case d.path == tour:
				if !strings.Contains(b.text, "kubectl ") {
					t.Errorf("%s:%d: what is this for?", d.path, b.line)
				}
			case strings.HasPrefix(b.text, "compare "):
				// TestDocuments of compare/commands runs them.
			default:
				runAsUser(t, d, b)
			}
		}
	}
}

var isMake = regexp.MustCompile(`^make( [a-z-]+)( ARGS='[^']*'| FOR=[0-9]+[hm]| SEED=[0-9]+| (PACKAGES|WITH)=[./a-z-]+)*$`)

func checkTargets(t *testing.T, d document, b block) {
	t.Helper()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("make is not installed")
	}
	for line := range strings.Lines(strings.TrimSpace(b.text)) {
		line = strings.TrimSpace(line)
		if !isMake.MatchString(line) {
			t.Errorf("%s:%d: %q is no call of make in a block of them", d.path, b.line, line)
			continue
		}
		dryRun := exec.CommandContext(t.Context(), "/bin/sh", "-c", line+" -n")
		dryRun.Dir = root
		dryRun.Env = withoutMake(os.Environ())
		if out, err := dryRun.CombinedOutput(); err != nil {
			t.Errorf("%s:%d: %s: %v\n%s", d.path, b.line, line, err, out)
		}
	}
}

// withoutMake keeps what an outer make tells its children from ours.
func withoutMake(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		if name, _, _ := strings.Cut(variable, "="); !strings.HasPrefix(name, "MAKE") && name != "MFLAGS" {
			kept = append(kept, variable)
		}
	}
	return kept
}

const usersProgram = `package main

import (
	"fmt"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

func main() {
	fmt.Println(apply.OnConflict(apply.Reject), fieldowners.MustParsePath(".spec.replicas"))
}
`

// runAsUser runs a block in a new module beside a checkout called coapply. It does
// without the network where the module cache has all that go mod tidy looks at,
// which is more than what a build needs: modules, and sums that our go.sum may lack.
func runAsUser(t *testing.T, d document, b block) {
	t.Helper()
	out, err := runIn(t, usersModule(t), b.text, "GOPROXY=off")
	if err != nil {
		out, err = runIn(t, usersModule(t), b.text)
	}
	if err != nil {
		t.Errorf("%s:%d: %v\n%s", d.path, b.line, err, out)
	}
}

// usersModule has our go.sum, so that nobody has to be asked for sums that are
// known.
func usersModule(t *testing.T) string {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	module := filepath.Join(parent, "yours")
	errs := []error{
		os.Symlink(checkout, filepath.Join(parent, "coapply")),
		os.Mkdir(module, 0o755),
		os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.com/yours\n\ngo 1.26.0\n"), 0o644),
		os.WriteFile(filepath.Join(module, "go.sum"), sums, 0o644),
		os.WriteFile(filepath.Join(module, "main.go"), []byte(usersProgram), 0o644),
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return module
}

func runIn(t *testing.T, dir, script string, environment ...string) (output string, err error) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-exc", script)
	shell.Dir = dir
	shell.Env = append(os.Environ(), append(environment, "PWD="+dir, "GOWORK=")...)
	out, err := shell.CombinedOutput()
	return string(out), err
}
