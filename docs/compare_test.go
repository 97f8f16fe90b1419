package docs_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coapply.dev/compare"
	"coapply.dev/compare/commands"
)

var update = flag.Bool("update", false, "write what the benchmark's commands print into the documents")

// benchmarks are the commands of the benchmark, by the word that a line begins with, with the arms and workloads that
// they know.
var benchmarks = map[string]func() compare.Catalogue{
	"compare ":           commands.Catalogue,
	"go run ./cmd/mine ": catalogue, // of the program that docs/benchmarking.md shows
}

// benchmarkOf finds the word.
func benchmarkOf(text string) string {
	for word := range benchmarks {
		if strings.HasPrefix(text, word) {
			return word
		}
	}
	return ""
}

// runBenchmarks runs each command of a block in-process. Text that stands right below a block of one command is what it
// prints.
func runBenchmarks(t *testing.T, d document, i int) {
	t.Helper()
	b := d.blocks[i]
	word := benchmarkOf(b.text)
	for line := range strings.Lines(strings.TrimSpace(b.text)) {
		line, _, _ = strings.Cut(line, " #")
		line = strings.TrimSpace(line)
		rest, found := strings.CutPrefix(line, word)
		if !found {
			t.Errorf("%s:%d: %q is no call of %sin a block of them", d.path, b.line, line, word)
			continue
		}
		t.Run(line, func(t *testing.T) {
			out := runBenchmark(t, benchmarks[word](), strings.Fields(rest))
			switch want, shown := printed(d, i); {
			case !shown || tidied(out) == tidied(want):
			case *update:
				show(t, d, want, tidied(out)+"\n")
			default:
				t.Errorf("%s:%d prints:\n%s\ngo test ./docs -update writes that", d.path, b.line, tidied(out))
			}
		})
	}
}

// printed is the text right below a block.
func printed(d document, i int) (string, bool) {
	if i+1 == len(d.blocks) || strings.Count(d.blocks[i].text, "\n") > 1 {
		return "", false
	}
	b, next := d.blocks[i], d.blocks[i+1]
	return next.text, next.language == "text" && next.line <= b.line+4
}

// show puts what a command prints into its document.
func show(t *testing.T, d document, old, text string) {
	t.Helper()
	path := filepath.Join(checkout, d.path)
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, bytes.Replace(content, []byte("```text\n"+old+"```"), []byte("```text\n"+text+"```"), 1), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
}

var spaceAtEnd = regexp.MustCompile(`(?m) +$`)

func tidied(text string) string { return strings.Trim(spaceAtEnd.ReplaceAllString(text, ""), "\n") }

// checkout is root, from wherever a command is run.
var checkout = func() string {
	path, err := filepath.Abs(root)
	if err != nil {
		panic(err) // there is no working directory
	}
	return path
}()

const (
	sample = "compare/results/testdata/sample"
	// staging is a cluster that does not answer.
	staging = `{apiVersion: v1, kind: Config, current-context: staging,
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: staging, context: {cluster: c}}]}`
)

// runBenchmark gives what a command printed. A run comes as far as the cluster, and so has a plan. The other commands get
// the data of a run, made up for tests, under the names that documents use.
func runBenchmark(t *testing.T, c compare.Catalogue, args []string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	want, says := 0, ""
	if args[0] == "run" {
		if err := os.WriteFile("staging.yaml", []byte(staging), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--kubeconfig", "staging.yaml")
		want, says = 2, "no answer from https://127.0.0.1:1"
	} else {
		for _, folder := range []string{"review", "before", "after"} {
			if err := os.CopyFS(folder, os.DirFS(filepath.Join(checkout, sample))); err != nil {
				t.Fatal(err)
			}
		}
	}
	var out, stderr bytes.Buffer
	code := commands.Run(t.Context(), c, args, commands.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr})
	if code != want || !strings.Contains(stderr.String(), says) {
		t.Errorf("it ends with %d, want %d and %q\n%s%s", code, want, says, &out, &stderr)
	}
	return out.String()
}

// TestRunsAreLookedAt makes sure that a run which cannot be is seen as such.
func TestRunsAreLookedAt(t *testing.T) {
	for _, line := range []string{
		"run --workload hot-objects", "run --quick --trials 3", "run --no-such-flag", "run",
		"run --workload hot-object --arms ssa,no-such-arm",
	} {
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			var said bytes.Buffer
			code := commands.Run(ctx, commands.Catalogue(), strings.Fields(line), commands.Streams{Out: &said, Err: &said})
			if code != 2 {
				t.Errorf("exit code %d\n%s", code, &said)
			}
		})
	}
}
