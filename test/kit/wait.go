package kit

import (
	"errors"
	"testing"
	"time"
)

// Patience is how long a test waits for an expected event. It is long, because a busy machine takes minutes for what
// takes seconds elsewhere. A test that passes does not wait longer than necessary.
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

// Absence waits for the given time, before a test checks that something has not happened. If the time is too short, the
// test may miss a mistake, but it does not fail without one.
func Absence(t testing.TB, moment time.Duration, what string) {
	t.Helper()
	t.Logf("%v for %s", moment, what)
	time.Sleep(moment)
}

// WaitFor waits until check returns "". After Patience, the test fails with the last result of check.
func WaitFor(t testing.TB, what string, check func() string) {
	t.Helper()
	Eventually(t, what, func() error {
		if missing := check(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
