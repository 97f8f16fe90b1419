package contention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// TestLoopIsTold has two of ours write their own fields in turn.
func TestLoopIsTold(t *testing.T) {
	w := newWorld(t, box)
	turn := func(i int) []apply.ObjectRef {
		w.clock = w.clock.Add(time.Second)
		m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2], Operation: byApply}
		return w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}})
	}
	told := 0
	for i := range 40 {
		told += len(turn(i))
	}
	troubles, news, next := w.Take(box)
	if told != 1 || len(troubles) != 1 || len(news) != 1 || next != lookAgain || troubles[0].Reason != ReasonLoop {
		t.Fatalf("told %d times: %v, %v, again in %v", told, troubles, news, next)
	}
	if want := "coapply-ping, in Deployment shop/web, and coapply-pong, in Deployment shop/web, answer each other without end"; troubles[0].String() != want {
		t.Error(troubles[0])
	}
	if !w.forces("coapply-ping", ".spec.x") {
		t.Error("a loop stops nobody")
	}
	w.clock = w.clock.Add(time.Minute)
	if troubles, _, _ := w.Take(box); troubles != nil {
		t.Errorf("over: %v", troubles)
	}
}

// TestFightIsNoLoop has two of ours fight for a field, and so write in turn.
func TestFightIsNoLoop(t *testing.T) {
	w := newWorld(t, box)
	for range 30 {
		w.take(1, power, "replicas")
		w.take(1, "coapply-other/Apply", "replicas")
	}
	for _, trouble := range w.rows {
		if trouble.Reason != ReasonFight {
			t.Errorf("told: %v", trouble)
		}
	}
	if len(w.rows) != 1 {
		t.Errorf("%d troubles, want the fight", len(w.rows))
	}
}

// TestWhoCountsForLoops has writes that are none of a loop.
func TestWhoCountsForLoops(t *testing.T) {
	ping, pong := fieldowners.Manager{Name: "coapply-ping"}, fieldowners.Manager{Name: "coapply-pong"}
	person, kubelet := fieldowners.Manager{Name: "kubectl"}, fieldowners.Manager{Name: "kubelet", Subresource: "status"}
	for _, test := range []struct {
		reason string
		round  [][]fieldowners.Manager
		told   bool
	}{
		{"two in turn, and statuses of others", [][]fieldowners.Manager{{ping}, {kubelet}, {pong}, {kubelet}}, true},
		{"each time by a person", [][]fieldowners.Manager{{person}, {ping}, {pong}}, false},
		{"seen as one: nobody knows the order", [][]fieldowners.Manager{{ping, pong}, {pong, ping}}, false},
		{"our own condition", [][]fieldowners.Manager{{ping}, {{Name: "coapply-fights"}}}, false},
		{"nobody knows who", [][]fieldowners.Manager{{ping}, {}}, false},
	} {
		w := newWorld(t, box)
		for i := range 50 * len(test.round) {
			w.clock = w.clock.Add(500 * time.Millisecond)
			w.Observe(w.object, Change{Writers: test.round[i%len(test.round)]})
		}
		if (len(w.rows) > 0) != test.told {
			t.Errorf("%s: %d troubles", test.reason, len(w.rows))
		}
	}
}

// TestForgetLoop has a loop over two objects, of which one goes.
func TestForgetLoop(t *testing.T) {
	w := newWorld(t, box)
	child := w.object
	for i := range 40 {
		w.clock = w.clock.Add(time.Second)
		if w.object = child; i%2 == 1 {
			w.object = Object{ObjectRef: box, Parent: box}
		}
		m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2]}
		w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}})
	}
	if len(w.rows) != 1 || w.rows[0].Object != child.ObjectRef || w.rows[0].Other != box {
		t.Fatalf("%+v", w.rows)
	}
	w.rows[0].Object, w.rows[0].Other = box, child.ObjectRef
	if subjects := w.Forget(child); !slices.Equal(subjects, []apply.ObjectRef{box}) || len(w.rows) != 0 {
		t.Errorf("%v is to be looked at, %d troubles are left", subjects, len(w.rows))
	}
	if w.Forget(Object{ObjectRef: box, Parent: box}); w.loops.GoesOn(string(box.UID), "coapply-ping", "coapply-pong", w.clock) {
		t.Error("the family is remembered")
	}
}

// TestStrangerIsNoLoop has somebody else write in turn with one of ours: that is told, and
// not that two of ours answer each other. Where both are somebody else, they do.
func TestStrangerIsNoLoop(t *testing.T) {
	for _, test := range []struct {
		reason string
		sent   func(i int) bool // whether this process sent the i-th write
		want   []string         // reasons of the troubles
	}{
		{"all are ours", func(int) bool { return true }, []string{ReasonLoop}},
		{"an answer was lost, and another is late", func(i int) bool { return i != 4 }, []string{ReasonLoop}},
		{"one of the two is somebody else", func(i int) bool { return i%2 == 0 }, []string{ReasonStranger}},
		{"another process runs both", func(int) bool { return false }, []string{ReasonLoop, ReasonStranger, ReasonStranger}},
	} {
		w := newWorld(t, box)
		counted := w.Sent("coapply-ping", nil)
		for i := range 40 {
			w.clock = w.clock.Add(time.Second)
			version := fmt.Sprint(i)
			m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2], Operation: byApply}
			w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}, Version: version, Stamped: true})
			if test.sent(i) { // the watch may be faster than the answer
				counted.ObserveApply(apply.ApplyObservation{Result: "Configured", Object: apply.ObjectRef{ResourceVersion: version}})
			}
		}
		troubles, _, _ := w.Take(box)
		var reasons []string
		for _, trouble := range troubles {
			reasons = append(reasons, trouble.Reason)
		}
		if !slices.Equal(reasons, test.want) {
			t.Errorf("%s: %v, want %v", test.reason, troubles, test.want)
		}
		if said := "under the name coapply-pong, of values alone, were not sent by this process"; len(test.want) == 1 &&
			test.want[0] == ReasonStranger && !strings.Contains(fmt.Sprint(troubles), said) {
			t.Errorf("%v, want %q", troubles, said)
		}
	}
}
