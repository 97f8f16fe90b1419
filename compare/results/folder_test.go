package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"coapply.dev/compare"
)

func someRun() Run {
	return Run{
		Schema: Schema, Seed: 7, Started: time.Unix(1700000000, 0).UTC(), Decided: "abc",
		Environment: Environment{Commit: "abc"},
	}
}

func someTrial(id string) Trial {
	return Trial{ID: id, Cell: compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{Writers: 2}}, Arm: "ssa"}
}

func create(t *testing.T, trials ...string) (*Folder, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	f, err := Create(dir)
	if err == nil {
		err = f.SaveRun(someRun())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	for _, id := range trials {
		if err := f.Append(someTrial(id)); err != nil {
			t.Fatal(err)
		}
	}
	return f, dir
}

func wants(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one that says %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
}

func TestFolderKeepsWhatWasSaved(t *testing.T) {
	f, dir := create(t, "a", "b")
	ended := someRun()
	ended.Interrupted = "Ctrl-C"
	if err := f.SaveRun(ended); err != nil {
		t.Fatal(err)
	}
	run, trials, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(run, ended) || !reflect.DeepEqual(trials, []Trial{someTrial("a"), someTrial("b")}) {
		t.Errorf("%+v %+v", run, trials)
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 2 {
		t.Errorf("more than two files: %v", entries)
	}
}

func TestCreateRefuses(t *testing.T) {
	_, dir := create(t)
	_, err := Create(dir)
	wants(t, err, dir, "not empty", "holds run.json", "-o")

	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "letter.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Create(other)
	wants(t, err, other, "not empty", "letter.txt", "-o")

	_, err = Create(filepath.Join(other, "letter.txt"))
	wants(t, err, "letter.txt", "-o")
	f, err := Create(t.TempDir())
	if err != nil {
		t.Fatalf("an empty folder is refused: %v", err)
	}
	if err := f.Discard(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(f.path); !os.IsNotExist(err) {
		t.Errorf("a discarded folder is left: %v", err)
	}
}

func TestWriteDerived(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"one", "two"} {
		if err := WriteDerived(dir, "report.md", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	data, _ := os.ReadFile(filepath.Join(dir, "report.md"))
	if entries, _ := os.ReadDir(dir); string(data) != "two" || len(entries) != 1 {
		t.Errorf("%q, %v", data, entries)
	}
	wants(t, WriteDerived(filepath.Join(dir, "nowhere"), "report.md", nil), "report.md was not written")
}
