package oracle

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"coapply.dev/compare/history"
)

// applies is a correct store that knows Server-Side Apply: managers own fields, give up what they no longer list and take
// from others by force, an absent object is created, and what changes nothing is answered with the revision that stands.
// Requests without an answer may land after their writer has gone on, and the workload deletes the object.
type applies struct {
	t *rapid.T
	history.History
	now      time.Duration
	revision uint64
	live     map[string]string // nil: absent
	owner    map[string]string // of fields: managers
	running  []history.Operation
	late     []history.Operation
	serial   int
}

func simulateApplies(t *rapid.T) *applies {
	s := &applies{t: t, revision: 100, live: map[string]string{}, owner: map[string]string{}}
	s.version()
	for range rapid.IntRange(0, 50).Draw(t, "steps") {
		s.now += 2
		switch rapid.IntRange(0, 8).Draw(t, "what") {
		case 0:
			s.delete()
		case 1:
			s.landLate()
		case 2, 3, 4:
			s.begin()
		default:
			s.end()
		}
	}
	for len(s.running) > 0 {
		s.end()
	}
	for len(s.late) > 0 {
		s.landLate()
	}
	return s
}

func (s *applies) version() {
	s.revision++
	s.Versions = append(s.Versions, history.Version{
		Object: object, Revision: s.revision, Deleted: s.live == nil, Fields: maps.Clone(s.live),
	})
}

func (s *applies) delete() {
	if s.live == nil {
		return
	}
	s.Operations = append(s.Operations, history.Operation{Writer: -1, Object: object, Begin: s.now, End: s.now, Outcome: history.Noted})
	s.now++
	s.live, s.owner = nil, map[string]string{}
	s.version()
}

// begin lets a writer want its manager's field, and sometimes one that all managers set.
func (s *applies) begin() {
	writer := rapid.IntRange(0, 4).Draw(s.t, "writer")
	s.serial++
	value, manager := fmt.Sprint("v", s.serial), fmt.Sprint("m", writer%3)
	wants := map[string]string{"of-" + manager: value}
	if rapid.IntRange(0, 3).Draw(s.t, "overlap") == 0 {
		wants["shared"] = value
	}
	s.running = append(s.running, history.Operation{
		Writer: writer, Sequence: s.serial, Object: object, Manager: manager, Begin: s.now, Wants: wants,
	})
}

// end answers one operation, or does not.
func (s *applies) end() {
	if len(s.running) == 0 {
		return
	}
	i := rapid.IntRange(0, len(s.running)-1).Draw(s.t, "which")
	o := s.running[i]
	s.running = append(s.running[:i:i], s.running[i+1:]...)
	switch rapid.IntRange(0, 7).Draw(s.t, "outcome") {
	case 0: // it is still under way
		o.Outcome = history.Unknown
		s.late = append(s.late, o)
	case 1: // it never came
		o.Outcome = history.Unknown
	case 2: // the answer was lost
		o.Outcome = history.Unknown
		s.apply(o, true)
	case 3: // it is repeated, and finds what it wants, unless another one came between
		s.apply(o, true)
		s.landLate()
		o.Outcome, o.Revision = history.Landed, s.apply(o, true)
	default:
		o.Outcome, o.Revision = history.Rejected, s.apply(o, rapid.Bool().Draw(s.t, "force"))
		if o.Revision != "" {
			o.Outcome = history.Landed
		}
	}
	s.now++
	o.End = s.now
	s.Operations = append(s.Operations, o)
}

func (s *applies) landLate() {
	if len(s.late) > 0 {
		s.now++
		s.apply(s.late[0], true)
		s.late = s.late[1:]
	}
}

// apply returns the revision of the answer, "" for an ownership conflict.
func (s *applies) apply(o history.Operation, force bool) string {
	for field := range o.Wants {
		if owner, owned := s.owner[field]; owned && owner != o.Manager && !force {
			return ""
		}
	}
	before := s.live
	s.live = maps.Clone(before)
	if before == nil {
		s.live = map[string]string{}
	}
	for field, owner := range s.owner {
		if _, lists := o.Wants[field]; owner == o.Manager && !lists {
			delete(s.live, field)
			delete(s.owner, field)
		}
	}
	for field, value := range o.Wants {
		s.live[field], s.owner[field] = value, o.Manager
	}
	if before == nil || !maps.Equal(before, s.live) {
		s.version()
	}
	return strconv.FormatUint(s.revision, 10)
}

// What Server-Side Apply does by design is no loss, whatever was not answered and whatever was deleted meanwhile.
func TestServerSideApplyLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := simulateApplies(t)
		if o := Judge(s.History); o.Gap != "" || o.LostUpdates() != 0 || o.Phantom != 0 {
			t.Fatalf("%+v of %+v", o, s.History)
		}
		if got := CrossCheck(s.History, time.Minute); !strings.HasPrefix(got, "agrees: linearisable") {
			t.Fatalf("%s: %+v", got, s.History)
		}
	})
}

// Increments that are reckoned from an old read overwrite each other: those that were acknowledged are lost but for how far
// the counter went.
func TestBlindIncrementsAreCounted(t *testing.T) {
	type running struct {
		begin time.Duration
		read  int
	}
	rapid.Check(t, func(t *rapid.T) {
		s, under, n, revision, now := start("n", "0"), []running(nil), 0, uint64(10), time.Duration(0)
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			now += 2
			if len(under) == 0 || len(under) < 5 && rapid.Bool().Draw(t, "begins") {
				under = append(under, running{now, n})
				continue
			}
			i := rapid.IntRange(0, len(under)-1).Draw(t, "which")
			if r := under[i]; n != r.read+1 {
				n = r.read + 1
				revision++
				s.is(revision, "n", strconv.Itoa(n))
			}
			s.counted(i, revision).at(under[i].begin, now+1)
			under = append(under[:i:i], under[i+1:]...)
		}
		o := Judge(s.History)
		if want := o.Acknowledged - n; o.LostIncrements != want || o.LostUpdates() != want || o.Phantom != 0 || o.Gap != "" {
			t.Fatalf("lost %d, want %d: %+v of %+v", o.LostIncrements, want, o, s.History)
		}
		if got := CrossCheck(s.History, time.Minute); !strings.HasPrefix(got, "agrees") {
			t.Fatalf("%s: %+v", got, s.History)
		}
	})
}
