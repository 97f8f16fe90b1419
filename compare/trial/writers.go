package trial

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"coapply.dev/compare/results"
)

const (
	// intentBound is the time limit of an intent. The API server ends a request after 34 s; the higher limit lets its response arrive.
	intentBound = 40 * time.Second
	// drainBound is the time for which intents in progress may continue when no new intents begin.
	drainBound = 10 * time.Second
	// startSpread is the time over which the starts of the writers are spread, so that they do not write in lockstep.
	startSpread = 100 * time.Millisecond
)

// Reasons why no new intents begin. If the reason is errBeside, another error of the trial describes the failure.
var (
	errEnded  = errors.New("the trial's time is over")
	errBeside = errors.New("the writers were stopped, because Run.Background or a writer process failed")
)

// write runs the writers and the workload's background until the trial's time or rounds are over. When all have ended, it
// returns the error that makes the trial void, if any.
func (t *trial) write(ctx context.Context, w *watches) error {
	open, stop := context.WithCancelCause(ctx) // when open ends, no new intents begin
	defer stop(errEnded)
	w.onLost(stop)
	defer w.onLost(nil)
	end := t.background(ctx, stop)
	writers := writing(t.writeAll)
	if len(t.children) > 0 {
		writers = t.gather
		if err := t.release(ctx); err != nil {
			return errors.Join(err, end())
		}
	}
	return errors.Join(t.writeTimed(ctx, open, stop, writers), end())
}

// writing is a function that runs writers. When the context open ends, no new intents begin. The intents use the
// context inflight. The function returns when no intent is in progress.
type writing func(open, inflight context.Context, stop func(error))

// writeTimed runs writers until their time or rounds are over, and records the client-side counts.
func (t *trial) writeTimed(ctx, open context.Context, stop func(error), writers writing) error {
	inflight, abort := context.WithCancelCause(ctx)
	defer abort(errEnded)
	before, err := ownCPU()
	if err != nil {
		return fmt.Errorf("reading the CPU time of this process: %w", err)
	}
	t.beginTiming()
	endTime := t.deadline(stop)
	drained := drain(open, inflight, abort)
	writers(open, inflight, stop)
	drained()
	endTime()
	t.endTiming(open)
	after, err := ownCPU()
	client, failure := t.session.tally.result()
	client.CPU = (after - before).Seconds()
	if len(t.parts) > 0 {
		client, failure = results.MergeClients(append(t.parts, client)...), nil
	}
	t.result.Client = client
	return errors.Join(failureOf(ctx, open), err, failure, t.lost)
}

func ownCPU() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// drain limits the time for intents in progress. It calls abort when drainBound has passed since the context open
// ended. The caller must call drained when all writers have ended.
func drain(open, inflight context.Context, abort func(error)) (drained func()) {
	waiting, cancel := context.WithCancel(inflight)
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-open.Done():
		case <-waiting.Done():
		}
		if sleep(waiting, drainBound) == nil {
			abort(fmt.Errorf("an intent was still in progress %s after the trial's end", drainBound))
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// failureOf returns the reason why the writers stopped early, unless it is reported elsewhere.
func failureOf(ctx, open context.Context) error {
	cause := context.Cause(open)
	if errors.Is(cause, context.Cause(ctx)) || errors.Is(cause, errEnded) || errors.Is(cause, errBeside) {
		return nil
	}
	return cause
}

// background runs Run.Background in a goroutine. The returned function stops the goroutine, and then returns its error.
func (t *trial) background(ctx context.Context, stop func(error)) (end func() error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() {
		err := guard("workload "+t.Workload.Name, func() error { return t.run.Background(ctx) })
		if err == nil || errors.Is(err, context.Canceled) {
			done <- nil
			return
		}
		if ctx.Err() == nil {
			stop(errBeside)
		}
		done <- fmt.Errorf("running Run.Background of the workload: %w", err)
	}()
	return func() error {
		cancel()
		return <-done
	}
}

func (t *trial) beginTiming() {
	p := t.Cell.Parameters
	t.log.start = t.log.now()
	t.log.from = t.log.start
	if p.Rounds == 0 {
		t.log.from += p.Warmup
	}
	if p.Rate > 0 {
		processes := max(1, p.Processes)
		random := t.random(arrivalNumbers + uint64(t.process))
		t.log.arrivals = newArrivals(p.Rate/float64(processes), p.Warmup+p.Duration, random)
	}
}

// deadline calls stop when the time of a trial is over. For a trial by rounds it does nothing.
func (t *trial) deadline(stop func(error)) (cancel func()) {
	p := t.Cell.Parameters
	if p.Rounds > 0 {
		return func() {}
	}
	within := p.Warmup + p.Duration
	if p.Rate > 0 { // there are no more arrivals, but those so far must still be handled
		within += convergeBound
	}
	timer := time.AfterFunc(within, func() { stop(errEnded) })
	return func() { timer.Stop() }
}

// endTiming records the arrivals that were not started, and the end of the timed part. A trial by time ends after its
// Duration. A trial by rounds, or one that stopped early, ends with its last intent.
func (t *trial) endTiming(open context.Context) {
	p := t.Cell.Parameters
	if a := t.log.arrivals; a != nil && len(t.children) == 0 {
		t.log.left = a.times[a.begun.Load():]
	}
	cause := context.Cause(open)
	if p.Rounds == 0 && (errors.Is(cause, errEnded) || p.Rate > 0 && cause == nil) {
		t.log.until = t.log.from + p.Duration
		return
	}
	t.log.until = t.log.start
	for _, w := range t.log.writers {
		if n := len(w.Intents); n > 0 {
			t.log.until = max(t.log.until, w.Intents[n-1].Ended)
		}
	}
}

// mine reports whether a writer runs in this process.
func (t *trial) mine(writer int) bool { return writer%max(1, t.Cell.Processes) == t.process }

func (t *trial) writeAll(open, inflight context.Context, stop func(error)) {
	offsets := t.random(offsetNumbers)
	spread := min(startSpread, t.log.from-t.log.start)
	var all sync.WaitGroup
	for i := range t.log.writers {
		w := &oneWriter{trial: t, number: i, log: t.log.writers[i]}
		if spread > 0 && t.log.arrivals == nil {
			w.offset = time.Duration(offsets.Int64N(int64(spread)))
		}
		if !t.mine(i) {
			continue
		}
		all.Go(func() {
			if err := w.loop(open, inflight); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
}
