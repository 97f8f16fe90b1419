package fights_test

import (
	"fmt"
	"testing"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/fieldowners"
)

func newDetector(t *testing.T, perMinute int) *fights.Detector {
	t.Helper()
	f, err := fights.New(perMinute)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestSixteenManagers hands a field down a line, and back to the first: that is remembered of 16 managers.
func TestSixteenManagers(t *testing.T) {
	for managers, want := range map[int]int{16: 1, 17: 0} {
		var takes []take
		for i := range managers {
			takes = append(takes, take{0, fmt.Sprintf("m%02d>m%02d", i, (i+1)%managers)})
		}
		if lines := told(newDetector(t, 1), takes); len(lines) != want {
			t.Errorf("%d managers: told %v, want %d", managers, lines, want)
		}
	}
}

// TestLongGone: fights of a manager that sixteen others followed are over, the others' are not.
func TestLongGone(t *testing.T) {
	for _, gone := range []string{"a", "zz"} {
		f := newDetector(t, 1)
		told(f, []take{{0, gone + ">z"}, {0, "z>" + gone}, {0, gone + ">z"}})
		for i := range 16 {
			if active := f.Active(fightStart); len(active) != i+1 && i < 15 {
				t.Fatalf("%d fights after %d managers: %v", len(active), i, active)
			}
			other := fmt.Sprintf("m%02d", i)
			told(f, []take{{0, "z>" + other}, {0, other + ">z"}})
		}
		active := f.Active(fightStart)
		for _, fight := range active {
			if fight.A.Name == gone || fight.B.Name == gone {
				t.Errorf("%s goes on", fight)
			}
		}
		if len(active) != 15 {
			t.Errorf("%d fights go on, want those of the last 15 managers with z: %v", len(active), active)
		}
	}
}

// TestClockSetBack: what was counted before is forgotten.
func TestClockSetBack(t *testing.T) {
	f := newDetector(t, 3)
	told(f, []take{{1e6, "a>b"}, {1e6, "b>a"}, {1e6, "a>b"}, {1e6, "b>a"}, {0, "a>b"}})
	if active := f.Active(fightStart); len(active) > 0 {
		t.Errorf("%v", active)
	}
}

// TestLastSeen: a fight has its managers with the times of their last writes.
func TestLastSeen(t *testing.T) {
	f := newDetector(t, 1)
	var before fieldowners.Ownership
	for i := range 6 {
		after := stateOf(fmt.Sprintf("%s=x@%d", []string{"a", "b"}[i%2], i))
		f.ObserveWrite("web", before, after, fightStart)
		before = after
	}
	active := f.Active(fightStart)
	if len(active) != 1 || active[0].A.Time != fightStart.Add(4*time.Second) || active[0].B.Time != fightStart.Add(5*time.Second) {
		t.Errorf("%+v", active)
	}
}
