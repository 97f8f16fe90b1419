// Package trial runs one trial: one arm in one cell. It prepares the objects, watches all their versions, runs the writers,
// and returns the measurements together with the history that the oracle has judged.
package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/oracle"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

// Spec describes the trial to run.
type Spec struct {
	ID       string
	Cell     compare.Cell
	Arm      compare.Arm
	Workload compare.Workload
	// AA, Block, Order and Seed have the same meaning as in results.Trial.
	AA           bool
	Block, Order int
	Seed         uint64
	// Cached means that the trial has a cache of its objects even if the arm needs none, because another arm of the cell does.
	Cached bool
	// Pool holds the processes in which the writers run. It must be set if the benchmark has more than one process.
	Pool *Pool
}

// Recorded is the result of a trial.
type Recorded struct {
	Trial   results.Trial
	History history.History
}

// Run runs a trial. If anything fails, including a panic of the arm or the workload, the returned trial is void. Run returns
// an error only if ctx ended before anything was measured. When Run returns, nothing runs any more, and the trial's objects
// are deleted, even if ctx has ended.
func Run(ctx context.Context, t *target.Target, spec Spec) (Recorded, error) {
	return run(ctx, placeOf(t), spec)
}

func run(ctx context.Context, p place, spec Spec) (Recorded, error) {
	t := newTrial(p, spec)
	if err := t.measure(ctx); err != nil {
		t.void(err)
	}
	if ctx.Err() != nil {
		if t.log.intents() == 0 {
			return Recorded{}, fmt.Errorf("trial %s: nothing was measured: %w", spec.ID, context.Cause(ctx))
		}
		t.void(errors.New("interrupted"))
	}
	t.judge()
	return Recorded{Trial: t.result, History: t.history}, nil
}

// Time limits of the steps, so that no trial hangs.
const (
	prepareBound = 2 * time.Minute
	finishBound  = time.Minute
	settleBound  = 10 * time.Second
	failedBound  = 2 * time.Second
	cleanBound   = 30 * time.Second
)

// measure runs the trial, from its preparation to its cleanup.
func (t *trial) measure(ctx context.Context) error {
	var err error
	if t.session, err = newSession(t.place, t.Cell.RTT); err != nil {
		return err
	}
	defer t.session.close()
	if err := bounded(ctx, prepareBound, t.prepare); err != nil {
		return errors.Join(err, t.clean(ctx))
	}
	return errors.Join(t.measurePrepared(ctx), t.clean(ctx))
}

func (t *trial) measurePrepared(ctx context.Context) error {
	w, err := startWatches(ctx, t.place, t.run.Kinds())
	if err != nil {
		return err
	}
	defer w.stop()
	defer t.endCache()
	writers := t.startArm
	if t.Cell.Processes > 1 {
		writers = t.spread
	}
	if err := bounded(ctx, prepareBound, writers); err != nil {
		return err
	}
	scrape := t.place.scrape(ctx, t.run.Kinds())
	began := time.Now()
	failure := t.write(ctx, w)
	t.result.Server = scrape(context.WithoutCancel(ctx))
	t.result.Load = t.place.load(time.Since(began), t.result.Client, t.result.Server)
	patience := settleBound
	if failure != nil { // usually because the API server does not respond any more
		patience = failedBound
	}
	if err := bounded(context.WithoutCancel(ctx), patience, func(ctx context.Context) error { return t.settle(ctx, w) }); err != nil {
		t.gap = err.Error()
	}
	if failure == nil && ctx.Err() == nil {
		failure = bounded(ctx, finishBound, t.finish)
	}
	return failure
}

// judge computes the result of the trial from its records.
func (t *trial) judge() {
	t.history.Operations = t.log.operations()
	t.result.Oracle = oracle.Judge(t.history)
	if t.gap != "" { // this reason is more precise than the oracle's
		t.result.Oracle.Gap = t.gap
	}
	if gap := t.result.Oracle.Gap; gap != "" {
		t.void(errors.New(gap))
	}
	if err := t.log.count(&t.result); err != nil {
		t.void(err)
	}
}

func bounded(ctx context.Context, bound time.Duration, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return step(ctx)
}
