package model

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"coapply.dev/apply"
)

// Tally counts what happened over all objects of a random test, which proves
// something only for what occurred in it.
type Tally struct {
	mu sync.Mutex
	Of map[string]int
}

// NewTally returns a Tally without counts.
func NewTally() *Tally { return &Tally{Of: map[string]int{}} }

// Add counts something.
func (c *Tally) Add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Of[what]++
}

// Outcome counts one Apply.
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

// AtLeast fails the test where something was counted less often.
func (c *Tally) AtLeast(t *testing.T, n int, whats ...string) {
	t.Helper()
	for _, what := range whats {
		if c.Of[what] < n {
			t.Errorf("%s: %d times, want at least %d for the test to prove something", what, c.Of[what], n)
		}
	}
}
