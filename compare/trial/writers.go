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

// Bounds of the writing.
const (
	// intentBound ends an intent. It is longer than the 34 s after which the API server gives a request up, so that its
	// answer is seen.
	intentBound = 40 * time.Second
	// drainBound is how long intents in flight may go on when no new ones begin.
	drainBound = 10 * time.Second
	// startSpread is the time over which writers begin, so that they do not write in step.
	startSpread = 100 * time.Millisecond
)

// Why no new intents begin.
var (
	errEnded  = errors.New("the trial's time is over")
	errBeside = errors.New("what runs beside the writers failed") // which is told by itself
)

// write has the writers write, and the workload's background beside them, until the trial's time or rounds are over. It
// returns what makes the trial void, when all of them have ended.
func (t *trial) write(ctx context.Context, w *watches) error {
	open, stop := context.WithCancelCause(ctx) // no new intents when it ends
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

// writing returns when open has ended and no intent is in flight. Intents end with inflight.
type writing func(open, inflight context.Context, stop func(error))

// writeTimed has writers write until their time or rounds are over, and counts what was spent.
func (t *trial) writeTimed(ctx, open context.Context, stop func(error), writers writing) error {
	inflight, abort := context.WithCancelCause(ctx)
	defer abort(errEnded)
	before, err := ownCPU()
	if err != nil {
		return fmt.Errorf("the processor time of this process: %w", err)
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
		client, failure = results.MergeClients(append(t.parts, client)...)
	}
	t.result.Client = client
	return errors.Join(failureOf(ctx, open), err, failure, t.lost)
}

// ownCPU is the time that this process has spent on processors.
func ownCPU() (time.Duration, error) {
	var usage unix.Rusage
	err := unix.Getrusage(unix.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), err
}

// drain bounds how long intents go on when no new ones begin; the function it returns is to be called when all have ended.
func drain(open, inflight context.Context, abort func(error)) (drained func()) {
	waiting, cancel := context.WithCancel(inflight)
	var running sync.WaitGroup
	running.Go(func() {
		select {
		case <-open.Done():
		case <-waiting.Done():
		}
		if sleep(waiting, drainBound) == nil {
			abort(fmt.Errorf("an intent went on for %s after the trial's end", drainBound))
		}
	})
	return func() {
		cancel()
		running.Wait()
	}
}

// failureOf is why the writers stopped before their time, unless it is told otherwise.
func failureOf(ctx, open context.Context) error {
	cause := context.Cause(open)
	if errors.Is(cause, context.Cause(ctx)) || errors.Is(cause, errEnded) || errors.Is(cause, errBeside) {
		return nil
	}
	return cause
}

// background runs what the workload has beside the writers; the function it returns ends that and waits.
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
		done <- fmt.Errorf("beside the writers: %w", err)
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

// deadline ends a trial that is by time.
func (t *trial) deadline(stop func(error)) (cancel func()) {
	p := t.Cell.Parameters
	if p.Rounds > 0 {
		return func() {}
	}
	within := p.Warmup + p.Duration
	if p.Rate > 0 { // nothing arrives any more, but what has arrived is to land
		within += convergeBound
	}
	timer := time.AfterFunc(within, func() { stop(errEnded) })
	return func() { timer.Stop() }
}

// endTiming keeps what was not begun. By time the trial ended at its deadline, or with its last arrival; otherwise with its
// last intent.
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

// mine reports whether a writer is in this process.
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
