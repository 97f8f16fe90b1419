package apply

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

// loopCounter counts changes by a clock that the test moves.
type loopCounter struct {
	now   time.Time
	loops *Loops
}

func newLoopCounter() *loopCounter {
	c := &loopCounter{now: time.Unix(1_000_000, 0)}
	c.loops = NewLoops(func() time.Time { return c.now })
	return c
}

// change counts changes with a time between them, and returns the number of reports.
func (c *loopCounter) change(manager string, times int, between time.Duration) (reports int) {
	for range times {
		c.now = c.now.Add(between)
		if c.loops.changed(loopKey{lanes.Key{}, manager}, c.now.Truncate(time.Second)) {
			reports++
		}
	}
	return reports
}

func TestLoopCounts(t *testing.T) {
	c := newLoopCounter()
	for _, step := range []struct {
		reason        string
		times, report int
		between, then time.Duration
	}{
		{"30 changes within a minute", 30, 0, time.Second, 0},
		{"the next change", 1, 1, time.Second, 0},
		{"changes within an hour", 60, 0, time.Second, time.Hour},
		{"30 changes after an hour", 30, 0, time.Second, 0},
		{"the next change after an hour", 1, 1, time.Second, 2 * time.Hour},
		{"a change every two seconds", 60, 0, 2 * time.Second, time.Minute},
		{"31 changes within a second", 31, 1, time.Millisecond, 0},
	} {
		if got := c.change("example-shop", step.times, step.between); got != step.report {
			t.Errorf("%s: %d reports; want %d", step.reason, got, step.report)
		}
		c.now = c.now.Add(step.then)
	}
}

func TestLoopsAreByFieldManager(t *testing.T) {
	c := newLoopCounter()
	for range 30 {
		if c.change("example-shop", 1, time.Millisecond)+c.change("example-footer", 1, time.Millisecond) > 0 {
			t.Fatal("30 changes by each of two field managers are a loop")
		}
	}
}

func TestLoopText(t *testing.T) {
	object := ObjectRef{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"},
		NamespacedName: types.NamespacedName{Namespace: "web", Name: "page"}}
	managers := func(names ...string) (all []fieldowners.Manager) {
		for _, name := range names {
			all = append(all, fieldowners.Manager{Name: name, Operation: metav1.ManagedFieldsOperationApply})
		}
		return all
	}
	const begin = `the field manager "shop" changed ConfigMap web/page more than 30 times within a minute. ` +
		"Another writer undoes each change, or two writers apply different values under this name. "
	const end = ". kubectl fieldowners watch shows who changes which field"
	for _, test := range []struct {
		others []fieldowners.Manager
		want   string
	}{
		{nil, "No other field manager owns a field of the object"},
		{managers("b", "a", "b"), "The other field managers of the object are b/Apply, a/Apply"},
		{managers("a", "b", "c", "d", "e"), "The other field managers of the object are a/Apply, b/Apply, c/Apply, and 2 more"},
	} {
		if got := loopText("shop", object, test.others); got != begin+test.want+end {
			t.Errorf("got\n%s\nwant\n%s", got, begin+test.want+end)
		}
	}
}
