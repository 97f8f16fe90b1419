package integration

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"coapply.dev/apply"
)

// tally counts what happened over all objects of a random test, which proves
// something only for what occurred in it.
type tally struct {
	mu sync.Mutex
	of map[string]int
}

func newTally() *tally { return &tally{of: map[string]int{}} }

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what]++
}

// outcome counts one Apply.
func (c *tally) outcome(outcome apply.Outcome, err error) {
	result := string(outcome.Action)
	if err != nil {
		result = "error " + apply.ResultOf(err)
	}
	c.add("applies")
	c.add(result)
	for _, conflict := range outcome.Conflicts {
		c.add("decided " + conflict.Decision.String())
		if conflict.Remembered {
			c.add("remembered")
		}
	}
}

func (c *tally) report(t *testing.T) {
	t.Helper()
	for _, what := range slices.Sorted(maps.Keys(c.of)) {
		t.Logf("%5d %s", c.of[what], what)
	}
}

func (c *tally) atLeast(t *testing.T, n int, whats ...string) {
	t.Helper()
	for _, what := range whats {
		if c.of[what] < n {
			t.Errorf("%s: %d times, want at least %d for the test to prove something", what, c.of[what], n)
		}
	}
}
