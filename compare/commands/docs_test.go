package commands_test

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"coapply.dev/compare/commands"
	"coapply.dev/compare/summary/summarytest"
)

var update = flag.Bool("update", false, "write what the commands print into the documents")

// commandBlock is a block that calls compare, with the text that it prints if that stands right below.
var commandBlock = regexp.MustCompile("(?m)^```sh\n((?:compare .*\n)+)```\n(?:\n```text\n((?:[^`].*\n|\n)*)```\n)?")

// TestDocuments runs each command that a document shows. docs.TestCommands runs the others.
func TestDocuments(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"../../*.md", "../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	ran := 0
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range commandBlock.FindAllStringSubmatch(string(content), -1) {
			for line := range strings.Lines(block[1]) {
				ran++
				runLine(t, path, strings.TrimSpace(line), block[2])
			}
		}
	}
	if ran < 7 {
		t.Errorf("only %d commands found: are they written in another way now?", ran)
	}
}

// runLine compares what a command prints with what the document at path says that it prints; "" is nothing.
func runLine(t *testing.T, path, line, shown string) {
	line, _, _ = strings.Cut(line, " #")
	t.Run(line, func(t *testing.T) {
		out := tidied(runCommand(t, strings.Fields(line)[1:])) + "\n"
		switch {
		case shown == "" || out == shown:
		case *update:
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(content, []byte(shown), []byte(out), 1), 0o644)
			}
			if err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s: it prints:\n%s\ngo test ./commands -update writes that", path, out)
		}
	})
}

var spaceAtEnd = regexp.MustCompile(`(?m) +$`)

func tidied(text string) string { return strings.Trim(spaceAtEnd.ReplaceAllString(text, ""), "\n") }

// staging is a cluster that does not answer.
const staging = `{apiVersion: v1, kind: Config, current-context: staging,
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: staging, context: {cluster: c}}]}`

// runCommand returns what a command printed. A run comes as far as the cluster, and so has a plan. The other commands get
// the data of a run, made up for tests, under the names that documents use.
func runCommand(t *testing.T, args []string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	want, says := 0, ""
	if args[0] == "run" {
		if err := os.WriteFile("staging.yaml", []byte(staging), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--kubeconfig", "staging.yaml")
		want, says = 2, "no response from the API server https://127.0.0.1:1"
	} else {
		run, trials := summarytest.Run(10)
		if err := summarytest.Save("review", run, trials); err != nil {
			t.Fatal(err)
		}
	}
	var out, stderr bytes.Buffer
	streams := commands.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr}
	if code := commands.Run(t.Context(), commands.Catalogue(), args, streams); code != want || !strings.Contains(stderr.String(), says) {
		t.Errorf("it ends with %d, want %d and %q\n%s%s", code, want, says, &out, &stderr)
	}
	return out.String()
}

// TestRunsAreLookedAt makes sure that a run which cannot be is seen as such.
func TestRunsAreLookedAt(t *testing.T) {
	for _, line := range []string{
		"run --workload hot-objects", "run --profile quick --trials 3", "run --no-such-flag", "run",
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
