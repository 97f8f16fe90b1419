package contention

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

// TestLoopIsTold has two of ours write their own fields in turn.
func TestLoopIsTold(t *testing.T) {
	w := newWorld(t, box)
	turn := func(i int) []apply.ObjectRef {
		w.clock = w.clock.Add(time.Second)
		m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2], Operation: byApply}
		return w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}, Stamped: true}) // of a version that nobody knows
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
	ping, pong, third := fieldowners.Manager{Name: "coapply-ping"}, fieldowners.Manager{Name: "coapply-pong"}, fieldowners.Manager{Name: "coapply-third"}
	person, kubelet := fieldowners.Manager{Name: "kubectl"}, fieldowners.Manager{Name: "kubelet", Subresource: "status"}
	for _, test := range []struct {
		reason string
		round  [][]fieldowners.Manager
		loops  int
	}{
		{"two in turn, and statuses of others", [][]fieldowners.Manager{{ping}, {kubelet}, {pong}, {kubelet}}, 1},
		{"three in turn: each with each", [][]fieldowners.Manager{{ping}, {pong}, {third}}, 3},
		{"one writes spec and status, seen as one", [][]fieldowners.Manager{{ping, {Name: ping.Name, Subresource: "status"}}, {pong}}, 1},
		{"one in turn with the status of somebody else", [][]fieldowners.Manager{{ping}, {kubelet}}, 0},
		{"each time by a person", [][]fieldowners.Manager{{person}, {ping}, {pong}}, 0},
		{"seen as one: nobody knows the order", [][]fieldowners.Manager{{ping, pong}, {pong, ping}}, 0},
		{"our own condition", [][]fieldowners.Manager{{ping}, {{Name: "coapply-fights"}}}, 0},
		{"nobody knows who", [][]fieldowners.Manager{{ping}, {}}, 0},
	} {
		w := newWorld(t, box)
		for i := range 50 * len(test.round) {
			w.clock = w.clock.Add(500 * time.Millisecond)
			w.Observe(w.object, Change{Writers: test.round[i%len(test.round)]})
		}
		if len(w.rows) != test.loops {
			t.Errorf("%s: %d troubles, want %d", test.reason, len(w.rows), test.loops)
		}
	}
}

// TestLoopsOfTwoObjects: objects that belong to nobody have nothing to do with each other.
func TestLoopsOfTwoObjects(t *testing.T) {
	w := newWorld(t, apply.ObjectRef{})
	turns := func(places ...types.UID) {
		for i := range 80 {
			w.clock = w.clock.Add(500 * time.Millisecond)
			w.object.UID = places[i%len(places)]
			m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2]}
			w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}})
		}
	}
	if turns("web", "db"); len(w.rows) != 0 {
		t.Errorf("each writes to its own: %v", w.rows[0])
	}
	if turns("cart", "cart", "shop", "shop"); len(w.rows) != 2 {
		t.Errorf("%d loops, want one on each of two objects", len(w.rows))
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
		looked := 0
		w := newWorld(t, box)
		counted := w.Sent("coapply-ping", nil)
		for i := range 40 {
			w.clock = w.clock.Add(time.Second)
			version := fmt.Sprint(i)
			m := fieldowners.Manager{Name: []string{"coapply-ping", "coapply-pong"}[i%2], Operation: byApply}
			looked += len(w.Observe(w.object, Change{Writers: []fieldowners.Manager{m}, Version: version, Stamped: true}))
			if test.sent(i) { // the watch may be faster than the answer
				counted.ObserveApply(apply.ApplyObservation{Result: "Configured", Object: apply.ObjectRef{ResourceVersion: version}})
			}
		}
		troubles, _, _ := w.Take(box)
		var reasons []string
		for _, trouble := range troubles {
			reasons = append(reasons, trouble.Reason)
		}
		if !slices.Equal(reasons, test.want) || looked != len(test.want) {
			t.Errorf("%s: %v, to be looked at %d times; want %v", test.reason, troubles, looked, test.want)
		}
		if said := "under the name coapply-pong, of values alone, were not sent by this process"; len(test.want) == 1 &&
			test.want[0] == ReasonStranger && !strings.Contains(fmt.Sprint(troubles), said) {
			t.Errorf("%v, want %q", troubles, said)
		}
	}
}
