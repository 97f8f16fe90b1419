package trial

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

// log is what came of every intent. Writers keep their own and share nothing while they write.
type log struct {
	began   time.Time // of the trial: all times are since then
	writers []*writerLog
	// start is when the writers began; from and until bound what is timed.
	start, from, until time.Duration
	arrivals           *arrivals       // nil in a closed loop
	left               []time.Duration // arrivals that no writer began

	mu    sync.Mutex
	noted []history.Operation
}

type writerLog struct {
	Intents    []measured
	Operations []history.Operation
	// Busy, Own and Waited are those of results.Client.
	Busy, Own, Waited time.Duration
}

// measured is one intent, whole.
type measured struct {
	Due, Began, Ended time.Duration
	// Paused is how long the workload held it back on purpose, until other writers had read.
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

// note keeps a write that no arm makes.
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

// parts returns what is written one after another.
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

// operations of all writers in the order in which they began.
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

// acknowledged is the highest revision that the API server acknowledged for objects of a kind.
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

// count fills in what the trial comes to.
func (l *log) count(t *results.Trial) (err error) {
	t.Measured = max(0, l.until-l.from)
	t.PerWriter = make([]int, len(l.writers))
	latency, service := newLatencies(), newLatencies()
	for i, w := range l.writers {
		for _, m := range w.Intents {
			add(&t.All, m)
			if l.timed(m.Ended) {
				add(&t.Timed, m)
				if m.Outcome == history.Landed {
					t.PerWriter[i]++
				}
			}
			if l.timed(m.Due) {
				latency.add(m, m.Due)
				service.add(m, m.Began)
			}
		}
		t.Client.Busy += w.Busy
		t.Client.Own += w.Own
		t.Client.Waited += w.Waited
	}
	unstarted, timed := l.unstarted()
	latency.notLanded += timed
	t.Open = l.open(unstarted)
	if t.Latency, err = latency.result(); err == nil {
		t.Service, err = service.result()
	}
	return err
}

// unstarted is how many arrivals had not begun at the end, and how many of them were due in the time that counts.
func (l *log) unstarted() (all, timed int) {
	for _, at := range l.left {
		due := l.start + at
		if due > l.until {
			continue
		}
		all++
		if due >= l.from {
			timed++
		}
	}
	return all, timed
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

// latencies are of intents that landed; the others are without bound.
type latencies struct {
	landed    *hdrhistogram.Histogram
	notLanded int
}

func newLatencies() *latencies { return &latencies{landed: results.NewHistogram()} }

func (l *latencies) add(m measured, from time.Duration) {
	if m.Outcome != history.Landed {
		l.notLanded++
		return
	}
	record(l.landed, m.Ended-from-m.Paused)
}

func (l *latencies) result() (results.Latency, error) {
	encoded, err := results.EncodeHistogram(l.landed)
	return results.Latency{Histogram: encoded, NotLanded: l.notLanded}, err
}

// record clamps what a histogram has no room for.
func record(histogram *hdrhistogram.Histogram, latency time.Duration) {
	_ = histogram.RecordValue(min(max(latency.Microseconds(), 1), histogram.HighestTrackableValue()))
}
