package kit

import (
	"errors"
	"testing"
	"time"
)

// Eventually waits for a state that the cluster reaches by itself.
func Eventually(t testing.TB, what string, reached func() error) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute) // as a shared machine may stand still
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
