package loops

import (
	"testing"
	"time"

	"coapply.dev/apply/lanes"
)

// loopCounter counts changes by a clock that the test moves.
type loopCounter struct {
	now     time.Time
	counter *Counter
}

func newLoopCounter() *loopCounter {
	c := &loopCounter{now: time.Unix(1_000_000, 0)}
	c.counter = New(func() time.Time { return c.now })
	return c
}

// change counts changes with a time between them, and returns the number of reports.
func (c *loopCounter) change(manager string, times int, between time.Duration) (reports int) {
	for range times {
		c.now = c.now.Add(between)
		if c.counter.Changed(Key{lanes.Key{}, manager}, c.now.Truncate(time.Second)) {
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
