package delivery

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"coapply.dev/test/kit"
)

// TestDemoAsRecorded holds the demo that the documents show, of some steps the title alone, to
// the one that runs. It is not one of the parallel tests: the demo does not wait for ever.
func TestDemoAsRecorded(t *testing.T) {
	kit.ForSoak(t)
	recorded := kit.ReadRecorded(t, "../../../docs/demo.md", "<!-- recorded: make demo -->\n\n```text\n", "```")
	bin := t.TempDir() + string(filepath.Separator) // as make build leaves it
	if err := kit.BuildCommands(bin, "coapply.dev/cmd/platform", "coapply.dev/cmd/manager", "coapply.dev/cmd/kubectl-fieldowners"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	demo := exec.CommandContext(ctx, filepath.Join(bin, "platform"), "demo")
	demo.Dir = "../../.."
	var printed, told bytes.Buffer
	demo.Stdout, demo.Stderr = &printed, &told
	if err := demo.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, printed.String(), told.String())
	}
	recorded.Hold(t, asShown(recorded.Text, strings.TrimLeft(printed.String(), "\n")), demoSteps)
}

// asShown leaves of a printed step its title if that is what the document shows of it.
func asShown(document, printed string) string {
	shown := strings.Split(document, "\n\n")
	steps := strings.Split(printed, "\n\n")
	for i, step := range steps {
		if title, _, _ := strings.Cut(step, "\n"); slices.Contains(shown, title) {
			steps[i] = title
		}
	}
	return strings.Join(steps, "\n\n")
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
	{regexp.MustCompile(`scaled \d+ times`), "scaled N times"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d UTC`), "TIME"},
	{regexp.MustCompile(`\d+ (intents|requests|ownership conflicts|status and|stale writes|of them)`), "N $1"},
}

// demoSteps gives the words of each step, without what is another one each time. How lines
// are broken depends on it as well.
func demoSteps(text string) (steps []string) {
	text = kit.Timeless(text)
	for _, v := range demoVaries {
		text = v.pattern.ReplaceAllString(text, v.text)
	}
	for step := range strings.SplitSeq(text, "\n\n") {
		steps = append(steps, sentence.ReplaceAllString(strings.Join(strings.Fields(step), " "), "$1\n"))
	}
	return steps
}
