package update_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/update"
)

// What is judged of an object that a cache gives and that is old.
func TestOldObject(t *testing.T) {
	labelled := func(o client.Object) { o.SetLabels(map[string]string{"mine": "yes"}) }
	errNotYet := errors.New("not yet")
	for _, tc := range []struct {
		name, reason string
		given, live  func(client.Object) // changes to the object of the same name
		mutate       func(*corev1.Pod) error
		sent         string
		attempts     int
		changed      bool
		err          error
	}{
		{"somebody else wrote it", "the read finds it, and a read is all it costs", nil, labelled, label, "GET", 1, false, nil},
		{"it was taken away", "the object handed in is believed; the event follows", labelled, nil, label, "", 0, false, nil},
		{"something else was written", "the live object is written, so that it is not stale", nil,
			func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) }, label, "GET PUT", 1, true, nil},
		{"an error of what is old", "it may have healed", nil,
			func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) },
			func(p *corev1.Pod) error {
				if p.Annotations["theirs"] == "" {
					return errNotYet
				}
				return label(p)
			}, "GET PUT", 1, true, nil},
		{"an error that lasts", "the live object decides it", nil, nil,
			func(*corev1.Pod) error { return errNotYet }, "GET", 1, false, errNotYet},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Log(tc.reason)
			s := newServer(pod())
			object := cached(t, s, pod())
			if tc.given != nil {
				tc.given(object)
			}
			if tc.live != nil {
				s.foreignWrite(t, object, tc.live)
			}
			result, err := update.Do(t.Context(), s.updater(t), object, tc.mutate)
			if !errors.Is(err, tc.err) || tc.err == nil && err != nil {
				t.Errorf("error = %v, want %v", err, tc.err)
			}
			if s.sent() != tc.sent || result.Attempts != tc.attempts || result.Changed != tc.changed || result.StaleWrites != 0 {
				t.Errorf("sent %q, result %+v; want %q, %d attempts, changed %v", s.sent(), result, tc.sent, tc.attempts, tc.changed)
			}
			if now := cached(t, s, pod()); err == nil && result.Attempts > 0 && result.Object.ResourceVersion != now.ResourceVersion {
				t.Errorf("the result is at resourceVersion %s, the object at %s", result.Object.ResourceVersion, now.ResourceVersion)
			}
		})
	}
}

// Each call of mutate has an object of its own: the one handed in, copied, then
// that of each attempt.
func TestMutateIsCalledOnceAnAttempt(t *testing.T) {
	for _, tc := range []struct {
		name  string
		given *corev1.Pod
		calls int
	}{
		{"a whole object", nil, 2},
		{"a name", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}}, 1},
		{"without a resourceVersion", pod(), 1},
		{"without a uid", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod", ResourceVersion: "999"}}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newServer(pod())
			if tc.given == nil {
				tc.given = cached(t, s, pod())
			}
			seen := map[*corev1.Pod]bool{tc.given: true}
			_, err := update.Do(t.Context(), s.updater(t), tc.given, func(p *corev1.Pod) error {
				if seen[p] {
					t.Error("mutate was given one object twice")
				}
				seen[p] = true
				return label(p)
			})
			if err != nil || len(seen) != tc.calls+1 || s.sent() != "GET PUT" {
				t.Errorf("%d calls, sent %q, %v; want %d calls", len(seen)-1, s.sent(), err, tc.calls)
			}
		})
	}
}
