package kit

import (
	"errors"
	"testing"
	"time"
)

// Patience is how long a test waits for what must come. No verdict depends on it: a busy machine takes minutes for what
// takes seconds elsewhere, and one that hangs may take long to say so.
const Patience = 10 * time.Minute

// Eventually waits for a state that the cluster reaches by itself.
func Eventually(t testing.TB, what string, reached func() error) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for {
		err := reached()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Absence waits for what must not come: nothing tells that it did not, so it has a moment to come in. A moment that is
// too short hides a mistake, it makes no test fail.
func Absence(t testing.TB, moment time.Duration, what string) {
	t.Helper()
	t.Logf("%v for %s", moment, what)
	time.Sleep(moment)
}

// WaitFor waits until check returns "", and fails with what it returned last.
func WaitFor(t testing.TB, what string, check func() string) {
	t.Helper()
	Eventually(t, what, func() error {
		if missing := check(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
