package update_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"coapply.dev/apply/update"
)

// say is an idempotent mutate of the status.
func say(message string) func(*corev1.Pod) error {
	return func(p *corev1.Pod) error { p.Status.Message = message; return nil }
}

// TestCacheBehindOurOwnWrite: an object from before our last write is not believed to be as
// wanted, nor is one where it is not known whether that landed. One that shows it is.
func TestCacheBehindOurOwnWrite(t *testing.T) {
	s := newServer(pod())
	u := s.updater(t)
	before := cached(t, s, pod())
	status := func(reason string, given *corev1.Pod, message, want string) {
		t.Helper()
		s.requests = nil
		if _, err := update.Status(context.Background(), u, given, say(message)); err != nil && want != "GET PUT status lost" {
			t.Fatal(err)
		}
		if got := s.sent(); got != want && got+" lost" != want {
			t.Errorf("%s: sent %q, want %q", reason, got, want)
		}
	}
	status("nothing was written", before, "", "")
	status("A to B", before, "b", "GET PUT status")
	status("B to A, with a cache that still shows A", before, "", "GET PUT status")
	status("A again, with a cache that still shows the first A", before, "", "GET")
	now := cached(t, s, pod())
	status("a cache that shows it", now, "", "")
	status("and again", now, "", "")

	s.puts = []answer{lost}
	status("the answer is lost", now, "c", "GET PUT status lost")
	status("back, with a cache that does not show it", now, "", "GET PUT status")
	s.puts = []answer{lost}
	status("the answer is lost again", cached(t, s, pod()), "d", "GET PUT status lost")
	now = cached(t, s, pod())
	status("it has landed, which nobody knows", now, "d", "GET")
	status("now it is known", now, "d", "")
	status("written once more", now, "e", "GET PUT status")
	status("and the cache shows it at once", cached(t, s, pod()), "e", "")
}
