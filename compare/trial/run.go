// Package trial runs one trial of one arm in one cell: it prepares the objects, watches every version of them, lets the
// writers write, and returns what was measured together with the history that the oracle judged.
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

// Spec is which trial to run.
type Spec struct {
	ID       string
	Cell     compare.Cell
	Arm      compare.Arm
	Workload compare.Workload
	// AA, Block, Order and Seed are those of results.Trial.
	AA           bool
	Block, Order int
	Seed         uint64
	// Pool is where a cell of several processes has its writers.
	Pool *Pool
	// CrossCheck has a linearisability checker judge the history as well.
	CrossCheck bool
}

// Recorded is what a trial gave.
type Recorded struct {
	Trial   results.Trial
	History history.History
	// Object is one of the objects as the trial left it, as YAML; "" if there is none.
	Object string
}

// Run makes the trial. Whatever goes wrong, a panic of the arm or the workload included, makes a trial with Void set; the
// error is that of a context which ended before anything was measured. It leaves nothing running and removes what the
// trial created, also after the context has ended.
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
	return Recorded{Trial: t.result, History: t.history, Object: t.object}, nil
}

// Bounds of the steps, so that no trial hangs.
const (
	prepareBound = 2 * time.Minute
	finishBound  = time.Minute
	settleBound  = 10 * time.Second
	failedBound  = 2 * time.Second
	cleanBound   = 30 * time.Second
)

// measure is the trial from its first request to its last.
func (t *trial) measure(ctx context.Context) error {
	switch {
	case t.Cell.Rounds > 0 && t.Cell.Rate > 0:
		return errors.New("a trial is by rounds or has a rate of arrivals, not both")
	case t.Cell.Processes > 1 && (t.Workload.Attach == nil || t.Pool == nil || t.Cell.Rounds > 0):
		return errors.New("a trial in several processes needs a pool, a workload that others can attach to, and an end by time")
	}
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
	if failure != nil { // most often the API server is gone
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

// judge reckons what the trial comes to from what it recorded.
func (t *trial) judge() {
	t.history.Operations = t.log.operations()
	t.result.Oracle = oracle.Judge(t.history)
	if t.gap != "" { // it says why there is less than the oracle misses
		t.result.Oracle.Gap = t.gap
	}
	if gap := t.result.Oracle.Gap; gap != "" {
		t.void(errors.New(gap))
	}
	if t.CrossCheck && t.result.Void == "" {
		t.result.Oracle.Porcupine = oracle.CrossCheck(t.history, crossCheckBound)
	}
	if err := t.log.count(&t.result); err != nil {
		t.void(err)
	}
}

const crossCheckBound = 20 * time.Second

func bounded(ctx context.Context, bound time.Duration, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	return step(ctx)
}
