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
	a.wantSaid(t, 1, ": trial 6 of 6\n")
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
				on := &fakeCluster{made: func(_ context.Context, spec trial.Spec) (results.Trial, error) {
					if spec.Order < test.ends {
						return counts(spec), nil
					}
					interrupt()
					synctest.Wait()
					if test.early {
						return results.Trial{}, ctx.Err()
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
	a := newAttempt(t, 1, &fakeCluster{})
	if err := a.run(ended); !errors.Is(err, ErrInterrupted) || !strings.Contains(err.Error(), "before anything was measured") {
		t.Error(err)
	}
	if _, err := os.Stat(a.Dir); !os.IsNotExist(err) {
		t.Errorf("a folder without a run is left: %v", err)
	}
}

// An arm that fails in one trial costs that trial only.
func TestAVoidTrialCostsItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := ""
		a := newAttempt(t, 3, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (results.Trial, error) {
			if spec.Arm.Name == "ssa" && failed == "" {
				failed = spec.ID
				return void(spec, "the arm panicked"), nil
			}
			return counts(spec), nil
		}})
		if err := a.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		run, counting, voided := a.kept(t)
		if counting != 5 || voided != 1 || run.Interrupted != "" {
			t.Errorf("%d trials count, %d are void, %q", counting, voided, run.Interrupted)
		}
		a.wantSaid(t, 1, ", void: the arm panicked\n")
	})
}

// An API server that restarts makes trials void, and the run goes on when it is back.
func TestAServerThatRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back time.Time
		a := newAttempt(t, 10, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (results.Trial, error) {
			if spec.Order == 1 {
				back = time.Now().Add(time.Minute)
			}
			if time.Now().Before(back) {
				return void(spec, "the API server cannot be reached"), nil
			}
			return counts(spec), nil
		}})
		if err := a.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if run, counting, voided := a.kept(t); counting != 12 || voided != 8 || run.Interrupted != "" {
			t.Errorf("%d trials count, %d are void, %q", counting, voided, run.Interrupted)
		}
	})
}

// Where every trial is void, the run does not go on for hours.
func TestNothingButVoidTrials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		a := newAttempt(t, 20, &fakeCluster{made: func(_ context.Context, spec trial.Spec) (results.Trial, error) {
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
	})
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
