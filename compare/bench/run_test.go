package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/trial"
)

func TestAWholeRun(t *testing.T) {
	on := &fakeCluster{}
	a := newAttempt(t, 3, on)
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	run, counting, _ := a.kept(t)
	if counting != 6 || run.Ended == nil || run.Interrupted != "" || run.Environment.CPU != "fake" || len(run.Arms) != 2 {
		t.Errorf("%d trials; %+v", counting, run)
	}
	if on.closed != 1 {
		t.Errorf("the cluster is closed %d times", on.closed)
	}
	a.wantSaid(t, 1, "6 of 6 trials finished in")
}

// Ctrl-C in the third trial of four: what was measured stays, and is marked.
func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		name  string
		ends  int  // in this trial
		early bool // before anything of it was measured
		want  string
		kept  int
	}{
		{"in the middle of a trial", 2, false, "interrupted after 2 of 4 trials", 3},
		{"before a trial writes", 2, true, "interrupted after 2 of 4 trials", 2},
		{"in the last trial", 3, false, "interrupted after 3 of 4 trials", 4},
		{"in the first", 0, true, "interrupted after 0 of 4 trials", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				on := &fakeCluster{made: func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
					if spec.Order < test.ends {
						return counts(spec), nil
					}
					interrupt()
					synctest.Wait()
					if test.early {
						return trial.Recorded{}, ctx.Err()
					}
					return void(spec, "interrupted"), nil
				}}
				a := newAttempt(t, 2, on)
				err := a.run(ctx)
				if !errors.Is(err, ErrInterrupted) || err.Error() != test.want {
					t.Errorf("%v; want %s", err, test.want)
				}
				run, counting, voided := a.kept(t)
				if counting+voided != test.kept || counting != test.ends || run.Ended == nil || run.Interrupted == "" {
					t.Errorf("%d trials count, %d are void; ended %v, %q", counting, voided, run.Ended, run.Interrupted)
				}
				if on.closed != 1 {
					t.Errorf("the cluster is closed %d times", on.closed)
				}
				a.wantSaid(t, 1, "interrupted: the trial ends")
			})
		})
	}
}

func TestInterruptedBeforeThereIsACluster(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	a := newAttempt(t, 1)
	if err := a.run(ended); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "before anything was measured") {
		t.Error(err)
	}
	if _, err := os.Stat(a.Dir); !os.IsNotExist(err) {
		t.Errorf("a folder without a run is left: %v", err)
	}
}

// An arm that fails in one trial costs that trial only, and the next trial of the arm is judged twice instead.
func TestAVoidTrialCostsItselfOnly(t *testing.T) {
	failed, judged := "", map[string]int{}
	a := newAttempt(t, 3, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
		if spec.Arm.Name == "ssa" && failed == "" {
			failed = spec.ID
			return void(spec, "the arm panicked"), nil
		}
		recorded := counts(spec)
		if spec.CrossCheck {
			judged[spec.Arm.Name]++
			recorded.Trial.Oracle.Porcupine = "agrees"
		}
		return recorded, nil
	}})
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	run, counting, voided := a.kept(t)
	if counting != 5 || voided != 1 || run.Interrupted != "" {
		t.Errorf("%d trials count, %d are void, %q", counting, voided, run.Interrupted)
	}
	if judged["ssa"] != 1 || judged["apply"] != 1 {
		t.Errorf("histories judged twice: %v; want one of each arm", judged)
	}
	if files, _ := os.ReadDir(filepath.Join(a.Dir, results.Histories)); len(files) != 2 {
		t.Errorf("%d histories are kept", len(files))
	}
	a.wantSaid(t, 1, failed+" is void: the arm panicked")
	a.wantSaid(t, 1, "6 of 6 trials finished in 0s, 1 of them void")
}

// Where every trial is void, the run does not go on for hours.
func TestNothingButVoidTrials(t *testing.T) {
	tries := 0
	a := newAttempt(t, 20, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
		if tries++; tries == 5 {
			return counts(spec), nil // the count begins again
		}
		return void(spec, "preparing: forbidden"), nil
	}})
	err := a.run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the last 10 trials are all void") || !strings.Contains(err.Error(), "preparing: forbidden") {
		t.Error(err)
	}
	run, counting, voided := a.kept(t)
	if counting != 1 || voided != 14 || !strings.Contains(run.Interrupted, "all void") {
		t.Errorf("%d trials count, %d are void, %q", counting, voided, run.Interrupted)
	}
}

// A folder that cannot be written is found before anybody waits for a cluster.
func TestFoldersThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "letter.txt")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "run"), filepath.Dir(file), "/proc/run"} {
		a := newAttempt(t, 1, &fakeCluster{})
		a.Dir = dir
		if err := a.run(t.Context()); err == nil || !strings.Contains(err.Error(), "-o") || a.opened > 0 {
			t.Errorf("%s: %v, and %d clusters are opened", dir, err, a.opened)
		}
	}
	a := newAttempt(t, 1, &fakeCluster{})
	a.Dir = t.TempDir() // exists, is empty, and stays although nothing comes of the run
	a.create = func(string, results.Run) (folder, error) { return nil, errors.New("no folder") }
	if err := a.run(t.Context()); err == nil {
		t.Error("no error")
	}
	if _, err := os.Stat(a.Dir); err != nil {
		t.Error(err)
	}
}

func TestAFolderWithoutPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everywhere")
	}
	a := newAttempt(t, 1, &fakeCluster{})
	a.Dir = t.TempDir()
	if err := os.Chmod(a.Dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if err := a.run(t.Context()); !errors.Is(err, os.ErrPermission) || !strings.Contains(err.Error(), "name another folder") || a.opened > 0 {
		t.Errorf("%v, and %d clusters are opened", err, a.opened)
	}
}

func TestAHistoryThatCannotBeKept(t *testing.T) {
	a := newAttempt(t, 1, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
		recorded := counts(spec)
		recorded.Trial.Oracle.Porcupine = "agrees"
		return recorded, nil
	}})
	a.create = func(dir string, run results.Run) (folder, error) {
		kept, err := results.Create(dir, run)
		return kept, errors.Join(err, os.WriteFile(filepath.Join(dir, results.Histories), nil, 0o600))
	}
	if err := a.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, counting, _ := a.kept(t); counting != 2 {
		t.Errorf("%d trials count", counting)
	}
	a.wantSaid(t, 2, "was not saved: ")
}

// wait lets the fake time of a bubble pass, as a trial does.
func wait(d time.Duration) func(context.Context, trial.Spec) (trial.Recorded, error) {
	return func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
		time.Sleep(d)
		return counts(spec), nil
	}
}
