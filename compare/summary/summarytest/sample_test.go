package summarytest

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"coapply.dev/compare/results"
)

var update = flag.Bool("update", false, "write results/testdata/sample anew")

// TestSample: the folder that other packages' tests read is what Run makes up.
func TestSample(t *testing.T) {
	folder := filepath.Join("..", "..", "results", "testdata", "sample")
	run, trials := Run(10)
	if *update {
		save(t, folder, run, trials)
	}
	gotRun, gotTrials, err := results.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(gotRun, run) || !reflect.DeepEqual(gotTrials, trials) {
		t.Error("the sample is not what Run makes up: go test ./compare/summary/summarytest -update")
	}
}

func save(t *testing.T, folder string, run results.Run, trials []results.Trial) {
	t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	f, err := results.Create(folder, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range trials {
		if err := f.Append(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	note := []byte("Made up by compare/summary/summarytest for tests. Nothing here was measured.\n")
	if err := os.WriteFile(filepath.Join(folder, "SYNTHETIC.md"), note, 0o666); err != nil {
		t.Fatal(err)
	}
}
