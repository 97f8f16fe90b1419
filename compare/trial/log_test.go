package trial

import (
	"slices"
	"testing"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
)

const ms = time.Millisecond

// timing has a window from 100 to 200 ms and three writers.
func timing(intents ...measured) *log {
	l := newLog(time.Now(), 3)
	l.start, l.from, l.until = 50*ms, 100*ms, 200*ms
	for i, m := range intents {
		w := l.writers[i%2]
		w.Intents = append(w.Intents, m)
		w.Busy, w.Own, w.Waited = w.Busy+3*ms, w.Own+2*ms, w.Waited+ms
	}
	return l
}

func TestWhatIsTimed(t *testing.T) {
	l := timing(
		measured{Due: 60 * ms, Began: 60 * ms, Ended: 90 * ms, Outcome: history.Landed},                    // warm-up
		measured{Due: 90 * ms, Began: 90 * ms, Ended: 110 * ms, Outcome: history.Landed},                   // begun in it
		measured{Due: 120 * ms, Began: 130 * ms, Ended: 145 * ms, Paused: 5 * ms, Outcome: history.Landed}, // late by 10 ms
		measured{Due: 150 * ms, Began: 150 * ms, Ended: 160 * ms, Outcome: history.GaveUp},                 //
		measured{Due: 160 * ms, Began: 160 * ms, Ended: 170 * ms, Outcome: history.Rejected},               //
		measured{Due: 190 * ms, Began: 190 * ms, Ended: 300 * ms, Outcome: history.Landed},                 // drained
		measured{Due: 195 * ms, Began: 195 * ms, Ended: 300 * ms, Outcome: history.Unknown},                // cut off
		measured{Due: 170 * ms, Began: 170 * ms, Ended: 171 * ms, Outcome: history.Landed, Skipped: true},  // no request
	)
	l.arrivals = &arrivals{times: []time.Duration{0, 10 * ms, 20 * ms, 130 * ms, 140 * ms, 160 * ms}} // due at 50 ms and later
	l.left = l.arrivals.times[2:]
	var got results.Trial
	if err := l.count(&got); err != nil {
		t.Fatal(err)
	}
	if want := (results.Counts{Intents: 8, Landed: 5, Skipped: 1, GaveUp: 1, Rejected: 1, Unknown: 1}); got.All != want {
		t.Errorf("all: %+v, want %+v", got.All, want)
	}
	if want := (results.Counts{Intents: 5, Landed: 3, Skipped: 1, GaveUp: 1, Rejected: 1}); got.Timed != want {
		t.Errorf("timed: %+v, want %+v: those that ended in the window", got.Timed, want)
	}
	if got.Measured != 100*ms || got.Client.Busy != 24*ms || got.Client.Own != 16*ms || got.Client.Waited != 8*ms {
		t.Errorf("measured %s, busy %s, own %s, waited %s", got.Measured, got.Client.Busy, got.Client.Own, got.Client.Waited)
	}
	check(t, "latency", got.Latency, 5, 1, 20, 110) // 3 that did not land, 2 that did not begin in the window
	check(t, "service", got.Service, 3, 1, 10, 110)
}

// check compares the latencies of intents that landed, in milliseconds.
func check(t *testing.T, what string, got results.Latency, notLanded int, landed ...float64) {
	t.Helper()
	h, err := results.DecodeHistogram(got.Histogram)
	if err != nil {
		t.Fatal(err)
	}
	if got.NotLanded != notLanded || h.TotalCount() != int64(len(landed)) {
		t.Errorf("%s: %d landed and %d not, want %d and %d", what, h.TotalCount(), got.NotLanded, len(landed), notLanded)
	}
	for i, want := range landed {
		have := float64(h.ValueAtPercentile(100*float64(i+1)/float64(len(landed)))) / 1000
		if have < want*.998 || have > want*1.002 {
			t.Errorf("%s %d: %.3f ms, want %.0f", what, i, have, want)
		}
	}
}

func TestOperationsAreMergedInOrder(t *testing.T) {
	l := newLog(time.Now().Add(-time.Second), 2)
	l.writers[0].Operations = []history.Operation{{Object: "ConfigMap/n/a", Begin: 1, Revision: "7"}, {Object: "ConfigMap/n/a", Begin: 4}}
	l.writers[1].Operations = []history.Operation{
		{Object: "ConfigMap/n/b", Begin: 2, Revision: "11"}, {Object: "ConfigMapX/n/b", Begin: 3, Revision: "12"},
	}
	l.note(compare.Intent{Name: "c", Parts: []compare.Intent{{Name: "c-0"}, {Name: "c-1"}}})
	var begins []time.Duration
	noted := 0
	for _, o := range l.operations() {
		if o.Outcome == history.Noted {
			noted++
			continue
		}
		begins = append(begins, o.Begin)
	}
	if !slices.Equal(begins, []time.Duration{1, 2, 3, 4}) || noted != 2 {
		t.Errorf("in order %v with %d noted", begins, noted)
	}
	if got := l.acknowledged("ConfigMap"); got != 11 {
		t.Errorf("revision %d was acknowledged last, want 11", got)
	}
}

// What has arrived and not landed is the backlog; the loop has converged when all of it has landed.
func TestBacklog(t *testing.T) {
	landed := func(due, ended time.Duration) measured {
		return measured{Due: due, Began: due, Ended: ended, Outcome: history.Landed}
	}
	l := timing(landed(50*ms, 55*ms), landed(60*ms, 90*ms), landed(70*ms, 100*ms))
	l.arrivals = &arrivals{times: []time.Duration{0, 10 * ms, 20 * ms}} // since 50 ms
	open := l.open()
	if open.Arrived != 3 || open.Backlog != 2 || open.Converged == nil || *open.Converged != 30*ms {
		t.Errorf("%+v", open)
	}
	l.writers[0].Intents[0].Outcome = history.GaveUp
	if open = l.open(); open.Backlog != 3 || open.Converged != nil {
		t.Errorf("with one that was given up: %+v", open)
	}
	if l.arrivals = nil; l.open() != nil {
		t.Error("a closed loop has no backlog")
	}
}
