package model

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"coapply.dev/apply"
)

// Tally counts the events of a random test. The test proves something only about events that have occurred in it.
type Tally struct {
	mu sync.Mutex
	Of map[string]int
}

// NewTally returns a Tally without counts.
func NewTally() *Tally { return &Tally{Of: map[string]int{}} }

// Add counts one event.
func (c *Tally) Add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Of[what]++
}

// Outcome counts the outcome of one apply.
func (c *Tally) Outcome(outcome apply.Outcome, err error) {
	result := string(outcome.Action)
	if err != nil {
		result = "error " + apply.ResultOf(err)
	}
	c.Add("applies")
	c.Add(result)
	for _, conflict := range outcome.Conflicts {
		c.Add("decided " + conflict.Decision.String())
		if conflict.Remembered {
			c.Add("remembered")
		}
	}
}

// Report logs the counts.
func (c *Tally) Report(t *testing.T) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(c.Of)) {
		t.Logf("%5d %s", c.Of[what], what)
	}
}

// AtLeast fails the test if one of the events was counted fewer than n times.
func (c *Tally) AtLeast(t *testing.T, n int, whats ...string) {
	t.Helper()
	for _, what := range whats {
		if c.Of[what] < n {
			t.Errorf("%s: %d times, want at least %d for the test to prove something", what, c.Of[what], n)
		}
	}
}
