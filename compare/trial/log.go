package trial

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// log records the outcome of every intent. Each writer has its own part, so writers share nothing while they write.
type log struct {
	began   time.Time // the beginning of the trial; all other times are relative to it
	writers []*writerLog
	// start is the time at which the writers began. The timed part of the trial is between from and until.
	start, from, until time.Duration
	arrivals           *arrivals       // nil in a closed loop
	left               []time.Duration // arrivals that no writer has started

	mu    sync.Mutex
	noted []history.Operation
}

type writerLog struct {
	Intents    []measured
	Operations []history.Operation
	// Busy, Own and Waited are as in results.Client.
	Busy, Own, Waited time.Duration
}

// measured is the record of one intent with all its parts.
type measured struct {
	Due, Began, Ended time.Duration
	// Paused is the time for which the workload paused the intent until other writers had read.
	Paused  time.Duration
	Outcome history.Outcome
	Skipped bool
}

func newLog(began time.Time, writers int) *log {
	l := &log{began: began}
	for range max(1, writers) {
		l.writers = append(l.writers, &writerLog{})
	}
	return l
}

func (l *log) now() time.Duration { return time.Since(l.began) }

func (l *log) intents() int {
	n := 0
	for _, w := range l.writers {
		n += len(w.Intents)
	}
	return n
}

// note records a write that is not made by an arm.
func (l *log) note(intent compare.Intent) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range parts(intent) {
		o := operation(part)
		o.Begin, o.End, o.Outcome = now, now, history.Noted
		l.noted = append(l.noted, o)
	}
}

// parts returns the parts of an intent, or the intent itself if it has none.
func parts(intent compare.Intent) []compare.Intent {
	if len(intent.Parts) == 0 {
		return []compare.Intent{intent}
	}
	return intent.Parts
}

func operation(intent compare.Intent) history.Operation {
	return history.Operation{
		Writer: intent.Writer, Sequence: intent.Sequence, Manager: intent.Manager,
		Object: objectName(intent.Kind.Kind, intent.Namespace, intent.Name),
		Wants:  intent.Wants, Increments: intent.Increments,
	}
}

// operations returns the operations of all writers, sorted by start time.
func (l *log) operations() []history.Operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.noted)
	for _, w := range l.writers {
		all = append(all, w.Operations...)
	}
	slices.SortStableFunc(all, func(a, b history.Operation) int { return cmp.Compare(a.Begin, b.Begin) })
	return all
}

// acknowledged returns the highest revision that the API server acknowledged for an object of the kind.
func (l *log) acknowledged(kind string) uint64 {
	var highest uint64
	for _, w := range l.writers {
		for _, o := range w.Operations {
			revision, err := strconv.ParseUint(o.Revision, 10, 64)
			if err == nil && strings.HasPrefix(o.Object, kind+"/") {
				highest = max(highest, revision)
			}
		}
	}
	return highest
}

// count computes the counts and latencies of the trial's result.
func (l *log) count(t *results.Trial) (err error) {
	t.Measured = max(0, l.until-l.from)
	for i, w := range l.writers {
		before := t.Timed.Landed
		for _, m := range w.Intents {
			add(&t.All, m)
			if l.timed(m.Ended) {
				add(&t.Timed, m)
			}
		}
		landed := t.Timed.Landed - before
		if t.Most = max(t.Most, landed); i == 0 || landed < t.Fewest {
			t.Fewest = landed
		}
		t.Client.Busy += w.Busy
		t.Client.Own += w.Own
		t.Client.Waited += w.Waited
	}
	t.Open = l.open()
	if t.Latency, err = l.latency(func(m measured) time.Duration { return m.Due }); err == nil {
		t.Service, err = l.latency(func(m measured) time.Duration { return m.Began })
	}
	for _, at := range l.left {
		if l.timed(l.start + at) {
			t.Latency.NotLanded++
		}
	}
	return err
}

// latency returns the times from the given start of an intent until the intent landed, for the intents that were due in the
// timed part.
func (l *log) latency(start func(measured) time.Duration) (latency results.Latency, err error) {
	landed := results.NewHistogram()
	for _, w := range l.writers {
		for _, m := range w.Intents {
			switch {
			case !l.timed(m.Due):
			case m.Outcome != history.Landed:
				latency.NotLanded++
			default:
				took := (m.Ended - start(m) - m.Paused).Microseconds()
				_ = landed.RecordValue(min(max(took, 1), landed.HighestTrackableValue())) // cannot fail: the value is in the range
			}
		}
	}
	latency.Histogram, err = results.EncodeHistogram(landed)
	return latency, err
}

func (l *log) timed(at time.Duration) bool { return l.from <= at && at <= l.until }

func add(c *results.Counts, m measured) {
	c.Intents++
	switch m.Outcome {
	case history.Landed:
		c.Landed++
	case history.GaveUp:
		c.GaveUp++
	case history.Rejected:
		c.Rejected++
	case history.Failed:
		c.Failed++
	default:
		c.Unknown++
	}
	if m.Skipped {
		c.Skipped++
	}
}
