package compare

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/commands"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
	"coapply.dev/compare/target"
	"coapply.dev/test/kit"
)

// lossy are the arms that lose updates in ordinary use, by workload: what the benchmark is there to show.
var lossy = map[string][]string{
	"devbox-status":     {"gmu-replace"},
	"license-finalizer": {"gmu-replace"},
	"increment":         {"ssa", "apply"},
	"slurm-service":     {"gmu-replace"},
	"hot-object":        {"gmu-replace"},
	"cache-pollution":   {"gmu-requeue"},
}

// TestCompareQuickRun measures every cell of the quick profile once, shortened: the controls are caught, the other arms
// lose nothing but where that is what they are known for, and the report is the same bytes when it is rendered again.
func TestCompareQuickRun(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "quick")
	plan := slices.DeleteFunc(bench.Plan(commands.Catalogue(), bench.Quick), func(cell results.PlannedCell) bool {
		return cell.Workload == "node-uncordon" // it takes long to put nodes back, and has a test of its own
	})
	for i := range plan {
		plan[i].Blocks, plan[i].AA = 1, ""
		if plan[i].Processes > 1 {
			plan[i].Arms = []string{"gmu-default-retry", "apply"}
		}
		switch {
		case plan[i].Arms[0] == "put-no-rv", plan[i].Processes > 1: // a control needs time to lose updates; processes have no rounds
			plan[i].Warmup, plan[i].Duration = 50*time.Millisecond, 200*time.Millisecond
		case plan[i].Rounds == 0:
			plan[i].Rounds, plan[i].Warmup, plan[i].Duration = 5, 0, 0
		}
	}
	err := bench.Run(t.Context(), bench.Options{
		Catalogue: commands.Catalogue(), Dir: dir, Progress: io.Discard,
		Open: func(ctx context.Context) (*target.Target, error) { return target.On(ctx, kit.Cluster(t), io.Discard) },
		Run:  results.Run{Command: "compare run --profile quick --seed 1", Seed: 1, Profile: bench.Quick, Plan: plan, Decided: decided.Hash()},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, trials, err := results.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := summary.Of(run, trials)
	if r.Void != "" {
		t.Errorf("the run is void: %s", r.Void)
	}
	for _, trial := range trials {
		if trial.Void != "" {
			t.Errorf("%s is void: %s", trial.ID, trial.Void)
		}
		lost, may := trial.Oracle.LostUpdates(), slices.Contains(lossy[trial.Workload], trial.Arm)
		arm, _ := commands.Catalogue().Arm(trial.Arm)
		switch {
		case arm.Control && lost == 0:
			t.Errorf("%s: the oracle is blind: nothing is lost", trial.ID)
		case !arm.Control && lost > 0 && !may:
			t.Errorf("%s: %d lost updates, such as %+v", trial.ID, lost, trial.Oracle.Violations[:min(3, len(trial.Oracle.Violations))])
		}
	}
	renderTwice(t, dir)
}

// renderTwice renders by the command, as a user does.
func renderTwice(t *testing.T, dir string) {
	t.Helper()
	var before map[string][]byte
	for range 2 {
		var out, stderr bytes.Buffer
		if code := commands.Run(t.Context(), commands.Catalogue(), []string{"render", dir}, commands.Streams{Out: &out, Err: &stderr}); code != 0 {
			t.Fatalf("render ends with %d: %s%s", code, &out, &stderr)
		}
		now := map[string][]byte{}
		for _, name := range []string{"report.html", "report.md", "results.jsonl", "results.bench"} {
			content, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if now[name] = content; before != nil && !bytes.Equal(content, before[name]) {
				t.Errorf("%s is not the same when it is rendered again", name)
			}
		}
		before = now
	}
}
