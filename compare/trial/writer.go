package trial

import (
	"context"
	"errors"
	"fmt"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/history"
)

// oneWriter is a writer: a goroutine that writes one intent after the other.
type oneWriter struct {
	*trial

	number int
	log    *writerLog
	offset time.Duration
}

// loop writes intents until the context open ends or the workload has no more intents. An error makes the trial void.
func (w *oneWriter) loop(open, inflight context.Context) error {
	began := time.Now()
	defer func() { w.log.Own = time.Since(began) - w.log.Busy - w.log.Waited }()
	w.wait(open, w.offset)
	rounds := w.Cell.Rounds
	for sequence := 0; rounds == 0 || sequence < rounds; sequence++ {
		due, ok := w.due(open)
		if !ok {
			return nil
		}
		intent, more, err := w.next(inflight, sequence)
		if err != nil || !more || open.Err() != nil {
			return w.unlessEnded(open, err)
		}
		if err := w.write(inflight, intent, due, sequence); err != nil {
			return err
		}
	}
	return nil
}

// unlessEnded returns the error of Run.Next, or nil if Next failed because the trial had ended. A panic is always returned.
func (w *oneWriter) unlessEnded(open context.Context, err error) error {
	_, panicked := errors.AsType[*panicError](err)
	if err == nil || (open.Err() != nil && !panicked) {
		return nil
	}
	return fmt.Errorf("getting the next intent of writer %d: %w", w.number, err)
}

// wait waits for the given duration or until ctx ends. This time counts as time that the writer waits on purpose.
func (w *oneWriter) wait(ctx context.Context, d time.Duration) {
	if d > 0 {
		began := time.Now()
		_ = sleep(ctx, d) // the caller notices the end of ctx
		w.log.Waited += time.Since(began)
	}
}

// due returns the time at which the next intent must begin. In a closed loop it returns -1, which means at once. In
// an open loop it waits for the next arrival and returns its time. It returns false if no more intents may begin.
func (w *oneWriter) due(open context.Context) (time.Duration, bool) {
	if w.trial.log.arrivals == nil {
		return -1, open.Err() == nil
	}
	at, ok := w.trial.log.arrivals.take()
	if !ok {
		return 0, false
	}
	at += w.trial.log.start
	w.wait(open, at-w.trial.log.now())
	return at, open.Err() == nil
}

// next gets the next intent from the workload, and records how long the writer waited on purpose. In a trial by rounds, that is the
// whole duration of Run.Next, which waits for the other writers. In other trials, it is the duration of the requests in Run.Next.
func (w *oneWriter) next(ctx context.Context, sequence int) (intent compare.Intent, more bool, err error) {
	began, of := time.Now(), &attempt{}
	err = guard("workload "+w.Workload.Name, func() error {
		intent, more, err = w.run.Next(withAttempt(ctx, of), w.number, sequence)
		return err
	})
	if w.Cell.Rounds > 0 {
		w.log.Waited += time.Since(began)
	} else {
		w.log.Waited += time.Duration(of.waited.Load())
	}
	return intent, more, err
}

// unreachable is the number of consecutive requests without a response after which the API server is considered gone.
const unreachable = 20

// write writes one intent and records the outcome. If Arm.Whole is set, the arm gets the whole intent. Otherwise it
// gets one part after the other.
func (w *oneWriter) write(ctx context.Context, intent compare.Intent, due time.Duration, sequence int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, w.bound(), fmt.Errorf("the intent took longer than %s", w.bound()))
	defer cancel()
	if w.trial.log.arrivals != nil {
		w.trial.log.arrivals.begun.Add(1)
	}
	m := measured{Due: due, Began: w.trial.log.now(), Outcome: history.Landed, Skipped: true}
	if due < 0 {
		m.Due = m.Began
	}
	err := w.writeParts(ctx, intent, sequence, &m)
	m.Ended = w.trial.log.now()
	w.log.Intents = append(w.log.Intents, m)
	if n := w.session.tally.silentFor(); err == nil && n >= max(unreachable, 2*len(w.trial.log.writers)) {
		err = fmt.Errorf("the API server cannot be reached: %d requests in a row had no answer", n)
	}
	return err
}

func (w *oneWriter) bound() time.Duration {
	if w.Workload.Deadline > 0 {
		return w.Workload.Deadline
	}
	return intentBound
}

func (w *oneWriter) writeParts(ctx context.Context, intent compare.Intent, sequence int, m *measured) error {
	if w.Arm.Whole && len(intent.Parts) > 0 {
		w.trial.log.note(intent) // the arm writes the parts in its own way, so record all of them
		_, err := w.writeOne(ctx, intent, m)
		return err
	}
	for _, part := range parts(intent) {
		part.Writer, part.Sequence = w.number, sequence
		o, err := w.writeOne(ctx, part, m)
		w.log.Operations = append(w.log.Operations, o)
		if err != nil || o.Outcome != history.Landed {
			return err
		}
	}
	return nil
}

// writeOne calls the arm and records the operation. It returns an error only if the arm panicked.
func (w *oneWriter) writeOne(ctx context.Context, intent compare.Intent, m *measured) (history.Operation, error) {
	o, of := operation(intent), &attempt{tally: w.session.tally}
	if pause := intent.Pause; pause != nil {
		intent.Pause = func(ctx context.Context) error {
			began := time.Now()
			defer func() { of.waited.Add(int64(time.Since(began))) }()
			return pause(withAttempt(ctx, &attempt{})) // a new attempt, so that requests in the pause do not count twice
		}
	}
	var receipt compare.Receipt
	began := time.Now()
	o.Begin = began.Sub(w.trial.log.began)
	failure := guard("arm "+w.Arm.Name, func() (err error) {
		receipt, err = w.writer.Write(withAttempt(ctx, of), intent)
		return err
	})
	took, waited := time.Since(began), time.Duration(of.waited.Load())
	o.End = o.Begin + took
	w.log.Busy += took - waited
	w.log.Waited += waited
	m.Paused += waited
	o.Outcome, o.Revision, o.Skipped = outcome(failure, of), receipt.ResourceVersion, receipt.Skipped && failure == nil
	if failure != nil {
		o.Error = failure.Error()
		m.Outcome = o.Outcome
	}
	m.Skipped = m.Skipped && o.Skipped
	if _, panicked := errors.AsType[*panicError](failure); panicked {
		return o, failure
	}
	return o, nil
}

// outcome returns the outcome of an intent. If the arm failed and a write had no response, the outcome is unknown:
// this write may have been stored, and may even be the reason why a later write was stale.
func outcome(err error, of *attempt) history.Outcome {
	o := arms.Classify(err)
	switch {
	case o == history.Landed:
		return o
	case of.open.Load() > 0:
		return history.Unknown
	case o == history.Unknown && of.requests.Load() > 0 && cutOff(err):
		return history.GaveUp // interrupted between two requests that both had a response
	}
	return o
}

func cutOff(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
