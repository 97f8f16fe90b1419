package results

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// change rewrites a file of a folder.
func change(t *testing.T, dir, name string, edit func(string) string) {
	t.Helper()
	path := filepath.Join(dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(edit(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadOfAKilledRun(t *testing.T) {
	_, dir := create(t, "a", "b", "c")
	for _, cut := range []int{1, 40} { // the newline alone costs nothing
		change(t, dir, TrialsFile, func(s string) string { return s[:len(s)-cut] })
		run, trials, err := Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case cut == 1 && (len(trials) != 3 || run.Interrupted != ""):
			t.Errorf("without the last newline: %d trials, %q", len(trials), run.Interrupted)
		case cut == 40 && (len(trials) != 2 || !strings.Contains(run.Interrupted, "number 3, is cut off")):
			t.Errorf("cut: %d trials, %q", len(trials), run.Interrupted)
		}
	}
}

// A committed run is small.
func TestLoadOfCompressedTrials(t *testing.T) {
	_, dir := create(t, "a", "b", "c")
	plain := filepath.Join(dir, TrialsFile)
	data, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	w := gzip.NewWriter(&small)
	_, _ = w.Write(data) // to memory
	if err := errors.Join(w.Close(), os.Remove(plain), os.WriteFile(plain+".gz", small.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, trials, err := Load(dir); err != nil || len(trials) != 3 {
		t.Errorf("%d trials, %v", len(trials), err)
	}
	change(t, dir, TrialsFile+".gz", func(s string) string { return s[:len(s)-12] })
	_, _, err = Load(dir)
	wants(t, err, "trials.jsonl.gz", "unexpected EOF")
	change(t, dir, TrialsFile+".gz", func(string) string { return "hello, this is no gzip" })
	_, _, err = Load(dir)
	wants(t, err, "trials.jsonl.gz", "is not a gzip file")
}

func TestLoadRefuses(t *testing.T) {
	nowhere := filepath.Join(t.TempDir(), "nowhere")
	_, _, err := Load(nowhere)
	wants(t, err, "reading a run: ", nowhere)
	_, _, err = Load(t.TempDir())
	wants(t, err, "run.json: no such file")

	for _, c := range []struct {
		name, file string
		edit       func(string) string
		wants      []string
	}{
		{"another schema", RunFile, func(s string) string { return strings.Replace(s, Schema, "coapply.dev/compare/v9", 1) },
			[]string{"coapply.dev/compare/v9", Schema, "repeat the run"}},
		{"a schema that changed a type", RunFile,
			func(string) string { return `{"schema":"coapply.dev/compare/v9","seed":"seven"}` },
			[]string{"v9", "repeat the run"}},
		{"no schema", RunFile, func(string) string { return "{}" }, []string{`has schema ""`}},
		{"no JSON", RunFile, func(string) string { return "hello" }, []string{"run.json: invalid character"}},
		{"a bad line in the middle", TrialsFile, func(s string) string { return strings.Replace(s, `{"id":"b"`, `{"id":b`, 1) },
			[]string{"line 2 is not a trial", "remove the line"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, dir := create(t, "a", "b", "c")
			change(t, dir, c.file, c.edit)
			_, _, err := Load(dir)
			wants(t, err, c.wants...)
		})
	}
	_, dir := create(t)
	if err := os.Remove(filepath.Join(dir, TrialsFile)); err != nil {
		t.Fatal(err)
	}
	_, _, err = Load(dir)
	wants(t, err, "trials.jsonl.gz: no such file")
}
