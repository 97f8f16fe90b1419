package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"coapply.dev/test/kit"
)

// The faults of the matrix. A manager that is killed before a write is as one that was killed after the write before. A
// request that is dropped is as one that the API server refuses. Other faults are tested by test/explore, in every order.
var (
	writeFaults = []Fault{Killed, AnswerDropped, Internal}
	readFaults  = []Fault{Internal}
	eventFaults = []EventFault{Held, Lost}
)

// faultless are runs without a fault: what they write differs a little, as reconcilers work side by side.
const faultless = 3

// quiet is how long nothing may be written for a run to have ended.
const quiet = 500 * time.Millisecond

// silence is how long nothing may be written once the end state is reached: COAPPLY_SILENCE, such as 10s, or as long as quiet.
func silence(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv("COAPPLY_SILENCE")
	if text == "" {
		return quiet
	}
	given, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("COAPPLY_SILENCE: %v", err)
	}
	return given
}

// TestMatrix has each write of each scenario meet each fault, alone, and each live read and each event of a watch those
// that concern it. Afterwards everything is as without a fault, and nothing more is written.
func TestMatrix(t *testing.T) { eachScenario(t, (*scenario).meetAll) }

// TestTwoLeaders runs each scenario with two managers, as when a lease was lost without anybody noticing.
func TestTwoLeaders(t *testing.T) {
	eachScenario(t, func(s *scenario, t *testing.T) {
		c := s.follow(t)
		w := s.begin(t)
		w.start()
		s.does.do(w)
		w.endsAs(s, c)
	})
}

func eachScenario(t *testing.T, test func(*scenario, *testing.T)) {
	once(t)
	kit.InstallRBAC(t, kit.NewClient(t, kit.Cluster(t).Config()), "devbox_editor_role.yaml", &rbacv1.ClusterRole{})
	for _, s := range scenarios() {
		t.Run(s.kind+" "+s.act, func(t *testing.T) {
			t.Parallel()
			once(t)
			test(&s, t)
		})
	}
}

// course is what happens in a scenario without a fault, and its end state.
type course struct {
	state    string
	requests []Request
	events   []Event
}

func (s *scenario) meetAll(t *testing.T) {
	c := s.follow(t)
	chosen := s.chosen(t, c)
	writes := writesOf(c.requests)
	count(t, "%d writes, %d live reads, %d events", writes, len(c.requests)-writes, len(c.events))
	run := func(what fmt.Stringer, fault string, plan Plan, events EventPlan) {
		if !chosen() {
			return
		}
		t.Run(strings.NewReplacer("/", ":").Replace(fmt.Sprintf("%s: %s", what, fault)), func(t *testing.T) {
			t.Parallel()
			once(t)
			for range faultless {
				if s.meet(t, c, plan, events) {
					return
				}
			}
			count(t, notMet) // reconcilers work side by side: no run is quite like another
		})
	}
	for _, request := range c.requests {
		faults := readFaults
		if request.IsWrite() {
			faults = writeFaults
		}
		for _, fault := range faults {
			run(request, fault.Name, At(request, fault), nil)
		}
	}
	for _, event := range c.events {
		for _, fault := range eventFaults {
			run(event, string(fault), nil, AtEvent(event, fault))
		}
	}
}

// chosen returns a function that picks at random as many cases of all scenarios as COAPPLY_CASES, or all.
func (s *scenario) chosen(t *testing.T, c course) func() bool {
	all := 0
	for _, r := range c.requests {
		if all += len(readFaults); r.IsWrite() {
			all += len(writeFaults) - len(readFaults)
		}
	}
	all += len(c.events) * len(eventFaults)
	sample := kit.Cases(t, 0)
	if sample == 0 {
		return func() bool { return true }
	}
	share := float64(sample) / float64(len(scenarios())*all)
	dice := rand.New(rand.NewPCG(kit.Seed(t), uint64(all)))
	return func() bool { return dice.Float64() < share }
}

// follow runs the scenario without a fault.
func (s *scenario) follow(t *testing.T) course {
	var c course
	for range faultless {
		w := s.begin(t)
		w.wire.Arm(nil, nil)
		s.does.do(w)
		w.becomes(s.act, func() string { return s.does.done(w) })
		w.Quiet(t, quiet)
		state, err := w.state()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.state, state); c.state != "" && diff != "" {
			t.Fatalf("two runs without a fault differ:\n%s", diff)
		}
		c.state = state
		for _, request := range w.wire.Requests() {
			if !slices.Contains(c.requests, request) {
				c.requests = append(c.requests, request)
			}
		}
		for _, event := range w.wire.Events() {
			if !slices.ContainsFunc(c.events, func(e Event) bool { return e.Resource == event.Resource && e.N == event.N }) {
				c.events = append(c.events, event)
			}
		}
		w.stop()
	}
	return c
}

// begin starts a manager in a world that is prepared so, and takes the steps that come before.
func (s *scenario) begin(t *testing.T, prepare ...func(*world)) *world {
	t.Helper()
	w := newWorld(t, s)
	for _, p := range prepare {
		p(w)
	}
	w.start()
	for _, before := range s.before {
		before.do(w)
		w.becomes("what comes before "+s.act, func() string { return before.done(w) })
	}
	if len(s.before) > 0 {
		w.Quiet(t, quiet)
	}
	return w
}

// meet runs the scenario with a fault, and reports whether the fault was met.
func (s *scenario) meet(t *testing.T, c course, plan Plan, events EventPlan) bool {
	w := s.begin(t)
	defer func() { w.stop() }()
	w.wire.Arm(plan, events)
	s.does.do(w)
	kit.WaitFor(t, "the end, or a dead manager", func() string {
		select {
		case <-w.wire.Dead():
			return ""
		default:
		}
		if len(w.wire.Met()) > 0 && w.wire.Rested() > quiet {
			w.wire.Release()
		}
		return w.unlessAs(s, c)
	})
	w.wire.Release()
	met := w.wire.Met()
	if w.wire.dead.Err() != nil {
		w.succeed()
	}
	w.endsAs(s, c)
	return len(met) > 0
}

// endsAs waits for the end state of a run without a fault, and for silence, after which it is still there.
func (w *world) endsAs(s *scenario, c course) {
	w.t.Helper()
	w.becomes("as without a fault", func() string { return w.unlessAs(s, c) })
	w.Quiet(w.t, silence(w.t))
	w.becomes("a read after the silence", func() string {
		state, err := w.state()
		if err != nil {
			return err.Error()
		}
		if diff := cmp.Diff(c.state, state); diff != "" {
			w.t.Errorf("after silence: %s", diff)
		}
		return ""
	})
}

func (w *world) unlessAs(s *scenario, c course) string {
	if missing := s.does.done(w); missing != "" {
		return missing
	}
	state, err := w.state()
	if err != nil {
		return err.Error()
	}
	return cmp.Diff(c.state, state)
}
