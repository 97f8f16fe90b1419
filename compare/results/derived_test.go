package results

import (
	"bytes"
	"encoding/csv"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
)

func sample(t *testing.T) (Run, []Trial) {
	t.Helper()
	run, trials, err := Load(filepath.Join("testdata", "sample"))
	if err != nil {
		t.Fatal(err)
	}
	return run, trials
}

func TestBenchParsesBack(t *testing.T) {
	run, trials := sample(t)
	trials[0].Void = "the API server died"
	data, err := Bench(run, trials)
	if err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(bytes.NewReader(data), "results.bench")
	lines, configs := 0, 0
	for reader.Scan() {
		switch record := reader.Result().(type) {
		case *benchfmt.SyntaxError:
			t.Errorf("line not understood: %v", record)
		case *benchfmt.Result:
			trial := trials[lines+1]
			goodput, ok := record.Value("intents/s")
			if !ok || goodput != *trial.Goodput() {
				t.Errorf("line %d: %v intents/s, want %v", lines, goodput, *trial.Goodput())
			}
			if _, ok := record.Value("p99-ms"); ok != (trial.Timed.GiveUps()*100 <= trial.Timed.Intents) {
				t.Errorf("trial %s: p99 is there %v", trial.ID, ok)
			}
			if record.GetConfig("commit") == run.Environment.Commit {
				configs++
			}
			lines++
		}
	}
	if err := reader.Err(); err != nil {
		t.Error(err)
	}
	if lines != len(trials)-1 || configs != lines {
		t.Errorf("%d lines, %d of the commit; want one for each of %d trials that count", lines, configs, len(trials)-1)
	}
	if better := reader.Units().GetBetter("intents/s"); better != 1 {
		t.Errorf("intents/s: better is %d", better)
	}
	if !bytes.Contains(data, []byte("BenchmarkHotObject/arm=ssa/writers=16/managers=4/objects=1 ")) ||
		!bytes.Contains(data, []byte("/rtt=5ms ")) || !bytes.Contains(data, []byte("arm=gmu-default-retry-again/")) {
		t.Error("names are other than documented")
	}
}

// TestBenchstat runs where benchstat is in the path.
func TestBenchstat(t *testing.T) {
	benchstat, err := exec.LookPath("benchstat")
	if err != nil {
		t.Skip("benchstat is not in the path")
	}
	run, trials := sample(t)
	data, err := Bench(run, trials)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "results.bench")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), benchstat, "-col", "/arm", "-filter", "/writers:16", path).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("n=10")) || bytes.Contains(out, []byte("need >=")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCSV(t *testing.T) {
	lo, zero := 1.5, 0.0
	data, err := CSV(Results{Cells: []Result{
		{Workload: "hot-object", Arm: "ssa", Writers: 4, Goodput: &Interval{Mean: 2, Lo: &lo}, GiveUpShare: &zero, NoVerdict: `a "b", c`},
		{Workload: "increment", Arm: "gmu"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := map[string]int{}
	for i, name := range lines[0] {
		if _, twice := at[name]; twice {
			t.Errorf("column %s twice", name)
		}
		at[name] = i
	}
	for _, want := range []struct {
		line        int
		name, value string
	}{
		{1, "arm", "ssa"}, {1, "writers", "4"}, {1, "goodput_per_s_mean", "2"}, {1, "goodput_per_s_lo", "1.5"},
		{1, "goodput_per_s_hi", ""}, {1, "give_up_share", "0"}, {1, "no_verdict", `a "b", c`}, {1, "latency_ms_p99", ""},
		{2, "goodput_per_s_mean", ""}, {2, "give_up_share", ""}, {2, "lost_updates", "0"},
	} {
		column, ok := at[want.name]
		if !ok || lines[want.line][column] != want.value {
			t.Errorf("line %d, %s: %q, want %q", want.line, want.name, lines[want.line][column], want.value)
		}
	}
	if got := strings.Join(lines[0][:5], ","); got != "workload,arm,aa,control,writers" {
		t.Errorf("the header begins with %s", got)
	}
}
