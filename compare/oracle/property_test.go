package oracle

import (
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"coapply.dev/compare/history"
)

// A correct store has no violations, whatever overlaps and whatever was not answered.
func TestACorrectStoreLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := simulate(t, false)
		o := Judge(s.History)
		if o.Gap != "" || o.LostUpdates() != 0 || o.Phantom != 0 || o.Stolen != s.stolen {
			t.Fatalf("%+v, %d stolen were right", o, s.stolen)
		}
		lastAcknowledgedStands(t, s)
		if got := CrossCheck(s.History, time.Minute); got != "agrees: linearisable" {
			t.Fatal(got)
		}
	})
}

// lastAcknowledgedStands is another way to say that nothing was lost: a field ends with the acknowledged value of the
// highest revision, unless an operation without an answer wanted it otherwise.
func lastAcknowledgedStands(t *rapid.T, s *store) {
	last, open := map[[2]string]history.Operation{}, map[want]bool{}
	revision := func(o history.Operation) uint64 {
		n, _ := strconv.ParseUint(o.Revision, 10, 64)
		return n
	}
	for _, o := range s.Operations {
		for field, value := range o.Wants {
			open[want{object: o.Object, field: field, value: value}] = o.Outcome != history.Landed
			if key := [2]string{o.Object, field}; o.Outcome == history.Landed && revision(o) >= revision(last[key]) {
				last[key] = o
			}
		}
	}
	for key, o := range last {
		stands := s.last(key[0]).Fields[key[1]]
		if stands != o.Wants[key[1]] && !open[want{object: key[0], field: key[1], value: stands}] {
			t.Fatalf("%s of %s ends as %q, not as %q of writer %d", key[1], key[0], stands, o.Wants[key[1]], o.Writer)
		}
	}
}

// What a store does wrong is counted exactly, and the linearisability checker sees it too.
func TestEveryLossIsCounted(t *testing.T) {
	losing := 0
	rapid.Check(t, func(t *rapid.T) {
		s := simulate(t, true)
		o := Judge(s.History)
		if o.Gap != "" || o.Lost+o.Resurrected != s.lost || o.LostIncrements != s.increments || o.Phantom != 0 ||
			o.Stolen != s.stolen || o.Found != o.Acknowledged {
			t.Fatalf("%+v\nof %+v\nright: lost %d, increments %d, stolen %d", o, s.History, s.lost, s.increments, s.stolen)
		}
		want := "agrees: linearisable"
		if s.lost+s.increments > 0 {
			want = "agrees: both see losses"
			losing++
		}
		if got := CrossCheck(s.History, time.Minute); got != want {
			t.Fatalf("%s, want %s of %+v", got, want, s.History)
		}
	})
	if losing == 0 {
		t.Error("no history had a loss: the test shows nothing")
	}
}

// Garbage is judged without a panic, and without a checker that hangs.
func TestGarbage(t *testing.T) {
	texts := rapid.SampledFrom([]string{"", "a", "b", "n", "1", "2", "10", "-3", "x", "99999999999999999999"})
	times := rapid.SampledFrom([]time.Duration{0, 1, 2, -5, math.MaxInt64, math.MinInt64})
	outcomes := rapid.SampledFrom([]history.Outcome{
		history.Landed, history.Unknown, history.Noted, history.GaveUp, history.Rejected, history.Failed, "x",
	})
	operation := rapid.Custom(func(t *rapid.T) history.Operation {
		return history.Operation{
			Writer: rapid.IntRange(-2, 2).Draw(t, "writer"), Object: texts.Draw(t, "object"), Manager: texts.Draw(t, "manager"),
			Wants:      rapid.MapOfN(texts, texts, 0, 3).Draw(t, "wants"),
			Increments: texts.Draw(t, "increments"), Begin: times.Draw(t, "begin"), End: times.Draw(t, "end"),
			Outcome: outcomes.Draw(t, "outcome"), Revision: texts.Draw(t, "revision"), Skipped: rapid.Bool().Draw(t, "skipped"),
		}
	})
	version := rapid.Custom(func(t *rapid.T) history.Version {
		return history.Version{
			Object: texts.Draw(t, "object"), Revision: rapid.Uint64Range(0, 12).Draw(t, "revision"),
			Deleted: rapid.Bool().Draw(t, "deleted"), Fields: rapid.MapOfN(texts, texts, 0, 3).Draw(t, "fields"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		h := history.History{
			Operations: rapid.SliceOfN(operation, 0, 12).Draw(t, "operations"),
			Versions:   rapid.SliceOfN(version, 0, 12).Draw(t, "versions"),
		}
		Judge(h)
		if got := CrossCheck(h, time.Second); !strings.HasPrefix(got, "agrees") && !strings.HasPrefix(got, "disagrees") &&
			!strings.HasPrefix(got, "undecided") {
			t.Fatal(got)
		}
	})
}
