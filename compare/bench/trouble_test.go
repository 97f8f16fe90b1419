package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/trial"
)

// dying answers until its second trial, and again after a while.
func dying(away time.Duration) *fakeCluster {
	var back time.Time
	return &fakeCluster{
		made: func(_ context.Context, spec trial.Spec) (trial.Recorded, error) {
			switch {
			case spec.Order == 1:
				back = time.Now().Add(away)
				return void(spec, "the API server cannot be reached"), nil
			case time.Now().Before(back):
				return void(spec, "it is still away"), nil
			}
			return counts(spec), nil
		},
		ready: func() error {
			if time.Now().Before(back) {
				return errors.New("connection refused")
			}
			return nil
		},
	}
}

func TestAServerThatDies(t *testing.T) {
	for _, test := range []struct {
		name     string
		first    *fakeCluster
		local    bool
		want     string // error
		counting int
		opened   int
		said     string
	}{
		{"comes back", dying(20 * time.Second), false, "", 5, 1, "does not respond; waiting up to 30s for it: connection refused"},
		{"stays away, and is the user's", dying(time.Hour), false, "the API server still does not respond: connection refused", 1, 1, "does not respond"},
		{"stays away, and is replaced", dying(time.Hour), true, "", 5, 2, "the control plane is gone; starting another one"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test.first.local = test.local
				a := newAttempt(t, 3, test.first, &fakeCluster{local: true})
				err := a.run(t.Context())
				if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("%v; want %q", err, test.want)
				}
				run, counting, voided := a.kept(t)
				if counting != test.counting || voided != 1 || (run.Interrupted == "") != (test.want == "") {
					t.Errorf("%d trials count, %d are void, %q", counting, voided, run.Interrupted)
				}
				if a.opened != test.opened || test.first.closed != 1 {
					t.Errorf("%d clusters opened, the first closed %d times", a.opened, test.first.closed)
				}
				a.wantSaid(t, 1, test.said)
			})
		})
	}
}

func TestNoOtherControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := dying(time.Hour)
		first.local = true
		a := newAttempt(t, 3, first)
		err := run(t.Context(), a.Options, func(context.Context) (cluster, error) {
			if a.opened++; a.opened > 1 {
				return nil, errors.New("no port is free")
			}
			return first, nil
		}, a.create)
		if err == nil || !strings.Contains(err.Error(), "starting another control plane: no port is free") || first.closed != 1 {
			t.Errorf("%v; closed %d times", err, first.closed)
		}
		if _, counting, voided := a.kept(t); counting != 1 || voided != 1 {
			t.Errorf("%d trials count, %d are void", counting, voided)
		}
	})
}

// Nobody waits for a server longer than they want to.
func TestInterruptedWhileWaitingForTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		a := newAttempt(t, 3, dying(time.Hour))
		if err := a.run(ctx); !errors.Is(err, ErrInterrupted) || err.Error() != "interrupted after 1 of 6 trials" {
			t.Error(err)
		}
	})
}

// fullFolder has room for so many trials, and for no more until a time; nor for the run then.
type fullFolder struct {
	folder

	most, trials int
	room         time.Time
}

func (f *fullFolder) full(what string) error {
	if f.trials >= f.most && time.Now().Before(f.room) {
		return fmt.Errorf("no room for %s: %w", what, syscall.ENOSPC)
	}
	return nil
}

func (f *fullFolder) Append(t results.Trial) error {
	if err := f.full("trial " + t.ID); err != nil {
		return err
	}
	f.trials++
	return f.folder.Append(t)
}

func (f *fullFolder) SaveRun(run results.Run) error {
	if err := f.full("run.json"); err != nil {
		return err
	}
	return f.folder.SaveRun(run)
}

func fullFor(d time.Duration, most int) creator {
	return func(dir string, run results.Run) (folder, error) {
		kept, err := results.Create(dir, run)
		return &fullFolder{folder: kept, most: most, room: time.Now().Add(d)}, err
	}
}

func TestADiskThatIsFullForAWhile(t *testing.T) {
	for _, most := range []int{0, 1, 4} { // at the first trial, at the second, at the end of the run
		synctest.Test(t, func(t *testing.T) {
			a := newAttempt(t, 2, &fakeCluster{})
			a.create = fullFor(30*time.Second, most)
			if err := a.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if run, counting, _ := a.kept(t); counting != 4 || run.Ended == nil || run.Interrupted != "" {
				t.Errorf("%d trials count, ended %v, %q; want all, as room was made", counting, run.Ended, run.Interrupted)
			}
			a.wantSaid(t, 1, "no space on the disk of "+a.Dir)
		})
	}
}

func TestAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAttempt(t, 2, &fakeCluster{})
		a.create = fullFor(time.Hour, 1)
		err := a.run(t.Context())
		if err == nil || !strings.Contains(err.Error(), "no room for trial 0001-") || !strings.Contains(err.Error(), "no room for run.json") {
			t.Error(err)
		}
		run, counting, _ := a.kept(t)
		if counting != 1 || run.Ended != nil {
			t.Errorf("%d trials count, ended %v; want what was kept before the disk was full", counting, run.Ended)
		}
		_, line, _ := strings.Cut(a.said.String(), "append this line to trials.jsonl:\n")
		line, _, _ = strings.Cut(line, "\n")
		var lost results.Trial
		if err := json.Unmarshal([]byte(line), &lost); err != nil || !strings.HasPrefix(lost.ID, "0001-") {
			t.Errorf("the trial that is not saved is not said: %v\n%s", err, &a.said)
		}
	})
}
