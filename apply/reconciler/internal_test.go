package reconciler

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/tools/events"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/fieldowners"
)

// TestIsNew: an error is new once, and again after it was gone.
func TestIsNew(t *testing.T) {
	n, err := newNews(), errors.New("any")
	for i, step := range []struct {
		errs []error
		want bool
	}{{nil, false}, {[]error{nil, err}, true}, {[]error{err}, false}, {[]error{nil}, false}, {[]error{err}, true}, {[]error{err, err}, true}} {
		if got, _ := n.about(trouble{}, step.errs...); got != step.want {
			t.Errorf("step %d: %t", i, got)
		}
	}
}

func paths(n int) (all []fieldowners.Path) {
	for i := range n {
		all = append(all, fieldowners.MustParsePath(fmt.Sprintf(".x%d", i)))
	}
	return all
}

// TestJoined: five fields are enough to see what it is about.
func TestJoined(t *testing.T) {
	for n, want := range map[int]string{5: ".x0, .x1, .x2, .x3, .x4", 6: ".x0, .x1, .x2, .x3, .x4, and 1 more"} {
		if got := joined(paths(n)); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// TestWhatIsTold: decisions that landed, and entries that cannot be read, once.
func TestWhatIsTold(t *testing.T) {
	recorder := events.NewFakeRecorder(8)
	r := &Reconciler[*appsv1.Deployment]{Config: Config[*appsv1.Deployment]{Events: recorder}, news: newNews()}
	parent := &appsv1.Deployment{}
	forced := apply.Conflict{Decision: apply.Force}
	conflicts := func(action apply.Action, all ...apply.Conflict) func() {
		return func() { r.tell(parent, Applied{Outcomes: []apply.Outcome{{Action: action, Conflicts: all}}}, true) }
	}
	kept := func(remembered bool) func() {
		return func() {
			r.tell(parent, Applied{Pruned: applyset.Pruned{Kept: []applyset.Kept{{Remembered: remembered}}}}, true)
		}
	}
	unread := func() {
		r.tellUnread(trouble{}, parent, []apply.Outcome{{Unread: []*fieldowners.EntryError{{Manager: "m", Err: errors.New("any")}}}})
	}
	for _, step := range []struct {
		reason string
		tell   func()
		want   int
	}{
		{"forced", conflicts(apply.Configured, forced), 1},
		{"forced, and then nothing landed", conflicts("", forced), 0},
		{"rejected", conflicts(apply.Configured, apply.Conflict{Decision: apply.Reject}), 0},
		{"remembered", conflicts(apply.Configured, apply.Conflict{Decision: apply.Force, Remembered: true}), 0},
		{"our own", conflicts(apply.Configured, apply.Conflict{Decision: apply.Force, Own: true}), 0},
		{"kept", kept(false), 1},
		{"kept as before", kept(true), 0},
		{"unreadable", unread, 1},
		{"unreadable still", unread, 0},
	} {
		step.tell()
		if got := len(recorder.Events); got != step.want {
			t.Errorf("%s: %d events, want %d", step.reason, got, step.want)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
	r.Events, r.news = nil, newNews()
	unread() // to nobody
}
