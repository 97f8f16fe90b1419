package kit

import (
	"errors"
	"testing"
	"time"
)

// Eventually waits for a state that the cluster reaches by itself.
func Eventually(t *testing.T, what string, reached func() error) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		err := reached()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// WaitFor waits until check returns "", and fails with what it returned last.
func WaitFor(t *testing.T, what string, check func() string) {
	t.Helper()
	Eventually(t, what, func() error {
		if missing := check(); missing != "" {
			return errors.New(missing)
		}
		return nil
	})
}
