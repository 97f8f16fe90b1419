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
	l := newLog(time.Now(), compare.Parameters{Writers: 3})
	l.start, l.from, l.until = 50*ms, 100*ms, 200*ms
	for i, m := range intents {
		w := l.writers[i%2]
		w.intents = append(w.intents, m)
		w.busy, w.own, w.waited = w.busy+3*ms, w.own+2*ms, w.waited+ms
	}
	return l
}

func TestWhatIsTimed(t *testing.T) {
	l := timing(
		measured{due: 60 * ms, began: 60 * ms, ended: 90 * ms, outcome: history.Landed},                    // warm-up
		measured{due: 90 * ms, began: 90 * ms, ended: 110 * ms, outcome: history.Landed},                   // begun in it
		measured{due: 120 * ms, began: 130 * ms, ended: 145 * ms, paused: 5 * ms, outcome: history.Landed}, // late by 10 ms
		measured{due: 150 * ms, began: 150 * ms, ended: 160 * ms, outcome: history.GaveUp},                 //
		measured{due: 160 * ms, began: 160 * ms, ended: 170 * ms, outcome: history.Rejected},               //
		measured{due: 190 * ms, began: 190 * ms, ended: 300 * ms, outcome: history.Landed},                 // drained
		measured{due: 195 * ms, began: 195 * ms, ended: 300 * ms, outcome: history.Unknown},                // cut off
		measured{due: 170 * ms, began: 170 * ms, ended: 171 * ms, outcome: history.Landed, skipped: true},  // no request
	)
	l.arrivals = &arrivals{times: []time.Duration{0, 10 * ms, 20 * ms, 130 * ms, 140 * ms, 160 * ms}} // due at 50 ms and later
	l.arrivals.begun.Store(2)
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
	if !slices.Equal(got.PerWriter, []int{1, 2, 0}) {
		t.Errorf("per writer: %v", got.PerWriter)
	}
	if got.Unstarted != 3 { // due at 70, 180 and 190 ms; the one at 210 ms came after the end
		t.Errorf("%d arrivals unstarted, want 3", got.Unstarted)
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
	l := newLog(time.Now().Add(-time.Second), compare.Parameters{Writers: 2})
	l.writers[0].operations = []history.Operation{{Object: "ConfigMap/n/a", Begin: 1, Revision: "7"}, {Object: "ConfigMap/n/a", Begin: 4}}
	l.writers[1].operations = []history.Operation{
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
