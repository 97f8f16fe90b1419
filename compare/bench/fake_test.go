package bench

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/trial"
)

// fakeCluster measures by a function of the test's.
type fakeCluster struct {
	made   func(ctx context.Context, spec trial.Spec) (results.Trial, error)
	closed int
}

func (f *fakeCluster) Environment() results.Environment { return results.Environment{CPU: "fake"} }
func (f *fakeCluster) Close(context.Context) error      { f.closed++; return nil }

func (f *fakeCluster) measure(ctx context.Context, spec trial.Spec) (results.Trial, error) {
	if f.made == nil {
		return counts(spec), nil
	}
	return f.made(ctx, spec)
}

// counts is a trial that counts.
func counts(spec trial.Spec) results.Trial {
	return results.Trial{ID: spec.ID, Cell: spec.Cell, Arm: spec.Arm.Name, Block: spec.Block, Order: spec.Order, Measured: time.Second}
}

func void(spec trial.Spec, why string) results.Trial {
	t := counts(spec)
	t.Void = why
	return t
}

// buffer is for what several goroutines write.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// attempt is a run on a cluster that does not measure.
type attempt struct {
	Options

	cluster cluster
	opened  int
	said    buffer
}

// newAttempt has two arms, so many times each.
func newAttempt(t *testing.T, blocks int, on cluster) *attempt {
	t.Helper()
	a := &attempt{cluster: on}
	cell := compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{Writers: 2, Duration: time.Second}}
	a.Options = Options{
		Catalogue: catalogue(), Dir: filepath.Join(t.TempDir(), "run"), Progress: &a.said,
		Run: results.Run{Seed: 1, Plan: []results.PlannedCell{{Cell: cell, Arms: []string{"ssa", "apply"}, Blocks: blocks}}},
	}
	return a
}

func (a *attempt) run(ctx context.Context) error {
	return run(ctx, a.Options, func(ctx context.Context) (cluster, error) {
		a.opened++
		return a.cluster, ctx.Err()
	})
}

// kept loads what the run left, and tells trials that count from void ones.
func (a *attempt) kept(t *testing.T) (run results.Run, counting, voided int) {
	t.Helper()
	run, trials, err := results.Load(a.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range trials {
		if one.Void == "" {
			counting++
		} else {
			voided++
		}
	}
	return run, counting, voided
}

func (a *attempt) wantSaid(t *testing.T, times int, text string) {
	t.Helper()
	if n := strings.Count(a.said.String(), text); n != times {
		t.Errorf("%q is said %d times, want %d:\n%s", text, n, times, &a.said)
	}
}
