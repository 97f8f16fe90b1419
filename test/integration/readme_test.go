package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	readme = "../../README.md"

	// Between them stands what make demo printed.
	demoBegins = "<!-- recorded: make demo -->"
	demoEnds   = "<!-- end of recorded -->"
	// Of what the plugin prints the README shows the begin.
	readmeCommand = "kubectl fieldowners deployment/web --path .spec"
)

// TestDemoAsRecorded holds the demo that the README shows to the one that runs. UPDATE_DOCS=1
// records it anew. It is not one of the parallel tests: the demo does not wait for ever.
func TestDemoAsRecorded(t *testing.T) {
	before, shown, after := readmeBlock(t, demoBegins, demoEnds)
	bin := t.TempDir() + string(filepath.Separator) // as make build leaves it
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "../../cmd/platform", "../../cmd/manager", "../../cmd/kubectl-fieldowners")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, filepath.Join(bin, "platform"), "demo")
	demo.Dir = "../.."
	var printed, told bytes.Buffer
	demo.Stdout, demo.Stderr = &printed, &told
	if err := demo.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, printed.String(), told.String())
	}
	now := strings.TrimLeft(printed.String(), "\n")
	if os.Getenv("UPDATE_DOCS") == "1" {
		writeReadme(t, before+now+after)
		return
	}
	was, is := demoSteps(shown), demoSteps(now)
	for i := range max(len(was), len(is)) {
		if i >= len(was) || i >= len(is) {
			t.Fatalf("the README shows %d parts, the demo has %d: UPDATE_DOCS=1 records it anew", len(was), len(is))
		}
		if diff := cmp.Diff(was[i], is[i]); diff != "" {
			t.Errorf("part %d is not as recorded: UPDATE_DOCS=1 records it anew (-README +now):\n%s", i+1, diff)
		}
	}
}

// holdReadme compares what the README shows of the object that the guide has made.
func holdReadme(t *testing.T, world *tourist) {
	t.Helper()
	before, shown, after := readmeBlock(t, "$ "+readmeCommand+"\n", "```")
	printed := strings.SplitAfter(world.run(t, readmeCommand), "\n")
	lines := strings.Count(shown, "\n")
	if lines < 5 || lines > len(printed) {
		t.Fatalf("the README shows %d lines of %d", lines, len(printed))
	}
	now := strings.Join(printed[:lines], "")
	if os.Getenv("UPDATE_DOCS") == "1" {
		writeReadme(t, before+now+after)
		return
	}
	if diff := cmp.Diff(timeless(shown), timeless(now)); diff != "" {
		t.Errorf("%s is not as the README shows it: UPDATE_DOCS=1 writes it anew (-README +now):\n%s", readmeCommand, diff)
	}
}

// readmeBlock gives the text of the block that begins there, and what stands around it.
func readmeBlock(t *testing.T, begin, end string) (before, block, after string) {
	t.Helper()
	content, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	within, _, ends := strings.Cut(rest, end)
	if !found || !ends {
		t.Fatalf("the README has no %q with an end", begin)
	}
	before += begin
	if begin == demoBegins { // the block of text in it
		lead, inner, _ := strings.Cut(within, "```text\n")
		before, within = before+lead+"```text\n", inner
		within, _, _ = strings.Cut(within, "```")
	}
	return before, within, string(content)[len(before)+len(within):]
}

func writeReadme(t *testing.T, content string) {
	t.Helper()
	if err := os.WriteFile(readme, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sentence ends where a line does, for the eye.
var sentence = regexp.MustCompile(`(ok|\$|#|[.:;,]) `)

var demoVaries = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\b(alpha|beta|gamma)-\w+-\w{5}\b`), "$1-POD"},
	{regexp.MustCompile(`\b3\d{4}\b`), "NODEPORT"},
	{regexp.MustCompile(`\d+\.\d+ s\b`), "AGE"},
	{regexp.MustCompile(`\d+ foreign writes`), "N foreign writes"},
	{regexp.MustCompile(`scaled \d+ times`), "scaled N times"},
	{regexp.MustCompile(`\d+ (intents|requests|ownership conflicts|status and|stale writes|of them)`), "N $1"},
}

// demoSteps gives the words of each step, without what is another one each time. How lines
// are broken depends on it as well.
func demoSteps(text string) (steps []string) {
	text = timeless(text)
	for _, v := range demoVaries {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	for step := range strings.SplitSeq(text, "\n\n") {
		steps = append(steps, sentence.ReplaceAllString(strings.Join(strings.Fields(step), " "), "$1\n"))
	}
	return steps
}
