package commands_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"coapply.dev/compare/commands"
)

// TestRendered: who changes how a report looks, or what is reckoned, renders the committed ones again.
func TestRendered(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("other processors round differently: they multiply and add in one step")
	}
	runs, err := filepath.Glob("../../docs/reports/*/run.json")
	if err != nil || len(runs) == 0 {
		t.Fatalf("no report is here: %v", err)
	}
	for _, run := range runs {
		dir := filepath.Dir(run)
		again := t.TempDir()
		for _, name := range []string{"run.json", "trials.jsonl.gz"} {
			copyFile(t, filepath.Join(dir, name), filepath.Join(again, name))
		}
		var out, stderr bytes.Buffer
		if code := commands.Run(t.Context(), commands.Catalogue(), []string{"render", again}, commands.Streams{Out: &out, Err: &stderr}); code != 0 {
			t.Fatalf("render ends with %d: %s%s", code, &out, &stderr)
		}
		for _, name := range []string{"report.html", "report.md"} {
			if !bytes.Equal(read(t, filepath.Join(dir, name)), read(t, filepath.Join(again, name))) {
				t.Errorf("%s is not what its data gives: run bin/compare render docs/reports/%s", filepath.Join(dir, name), filepath.Base(dir))
			}
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.WriteFile(to, read(t, from), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
