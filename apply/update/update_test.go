package update_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
)

// label is an idempotent mutate.
func label(p *corev1.Pod) error {
	metav1.SetMetaDataLabel(&p.ObjectMeta, "mine", "yes")
	return nil
}

func TestDo(t *testing.T) {
	errMutate := errors.New("cannot decide")
	for _, tc := range []struct {
		name, reason string
		gets, puts   []answer
		mutate       func(*corev1.Pod) error
		sent         string
		attempts     int
		stale        int
		changed      bool
		err          error  // matched by errors.Is; nil: success
		result       string // of the observation
	}{{
		name:   "first attempt",
		reason: "that there is something to write is confirmed live",
		mutate: label, sent: "GET PUT", attempts: 1, changed: true, result: "Success",
	}, {
		name:   "nothing changed",
		reason: "a steady state costs no request",
		mutate: func(*corev1.Pod) error { return nil }, sent: "", result: "Success",
	}, {
		name:   "nil turned empty",
		reason: "on the wire both are the same",
		mutate: func(p *corev1.Pod) error { p.Labels = map[string]string{}; return nil }, sent: "", result: "Success",
	}, {
		name:   "managed fields cleared",
		reason: "they are the server's, a change to them is none",
		mutate: func(p *corev1.Pod) error { p.ManagedFields = nil; return nil }, sent: "", result: "Success",
	}, {
		name:   "stale once",
		reason: "every attempt reads live",
		puts:   []answer{with(staleWrite())},
		mutate: label, sent: "GET PUT GET PUT", attempts: 2, stale: 1, changed: true, result: "Success",
	}, {
		name:   "always stale",
		reason: "an object rewritten without pause ends the call, it never loops",
		puts:   []answer{with(staleWrite()), with(staleWrite()), with(staleWrite()), with(staleWrite())},
		mutate: label, sent: "GET PUT GET PUT GET PUT GET PUT", attempts: 4, stale: 4, err: update.ErrExhausted, result: "Exhausted",
	}, {
		name:   "ownership conflict",
		reason: "no retry heals it",
		puts:   []answer{with(ownershipConflict())},
		mutate: label, sent: "GET PUT", attempts: 1, err: ownershipConflict(), result: "Error",
	}, {
		name:   "forbidden",
		reason: "other errors are returned at once",
		puts:   []answer{with(forbidden())},
		mutate: label, sent: "GET PUT", attempts: 1, err: apply.ErrRefused, result: "Refused",
	}, {
		name:   "throttled",
		reason: "client-go has retried it; the caller runs again later",
		puts:   []answer{with(apierrors.NewTooManyRequests("slow down", 1))},
		mutate: label, sent: "GET PUT", attempts: 1, err: apply.ErrRetryable, result: "Retryable",
	}, {
		name:   "answer lost",
		reason: "the write may have landed, only the caller may repeat it",
		puts:   []answer{lost},
		mutate: label, sent: "GET PUT", attempts: 1, err: apply.ErrRetryable, result: "Retryable",
	}, {
		name:   "deleted before the read",
		reason: "deletion is noticed by the read",
		gets:   []answer{with(notFound())},
		mutate: label, sent: "GET", attempts: 1, err: notFound(), result: "NotFound",
	}, {
		name:   "unreadable",
		reason: "nothing is written on the word of a cache",
		gets:   []answer{with(forbidden())},
		mutate: label, sent: "GET", attempts: 1, err: apply.ErrRefused, result: "Refused",
	}, {
		name:   "deleted before the write",
		reason: "there is nothing to change",
		puts:   []answer{with(notFound())}, gets: []answer{stored, with(notFound())},
		mutate: label, sent: "GET PUT GET", attempts: 1, err: notFound(), result: "NotFound",
	}, {
		name:   "a 404 of an object that exists",
		reason: "only a read shows that an object is gone",
		puts:   []answer{with(notFound())},
		mutate: label, sent: "GET PUT GET", attempts: 1, err: apply.ErrRefused, result: "Refused",
	}, {
		name:   "deleted before the retry",
		reason: "deletion is noticed by the read",
		puts:   []answer{with(staleWrite())}, gets: []answer{stored, with(notFound())},
		mutate: label, sent: "GET PUT GET", attempts: 2, stale: 1, err: notFound(), result: "NotFound",
	}, {
		name:   "mutate fails",
		reason: "nothing is written, and what was handed in does not decide it",
		mutate: func(p *corev1.Pod) error { p.Labels = map[string]string{"half": "done"}; return errMutate },
		sent:   "GET", attempts: 1, err: errMutate, result: "Error",
	}, {
		name:   "mutate fails with a stale write of its own",
		reason: "it is not the write of this call, a retry would repeat the side effect",
		mutate: func(*corev1.Pod) error { return staleWrite() },
		sent:   "GET", attempts: 1, err: staleWrite(), result: "Error",
	}, {
		name:   "another name",
		reason: "the write would go to another object",
		mutate: func(p *corev1.Pod) error { p.Name = "other"; return nil }, sent: "", err: update.ErrIdentityChanged, result: "Error",
	}, {
		name:   "managed fields set",
		reason: "they are the server's, a change to them is none",
		mutate: func(p *corev1.Pod) error { p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m"}}; return nil }, sent: "", result: "Success",
	}, {
		name:   "another namespace",
		reason: "the write would go to another object",
		mutate: func(p *corev1.Pod) error { p.Namespace = "other"; return nil }, sent: "", err: update.ErrIdentityChanged, result: "Error",
	}, {
		name:   "another uid",
		reason: "the write would be refused",
		mutate: func(p *corev1.Pod) error { p.UID = "other"; return nil }, sent: "", err: update.ErrIdentityChanged, result: "Error",
	}, {
		name:   "another kind",
		reason: "the write would be refused",
		mutate: func(p *corev1.Pod) error { p.Kind = "Job"; return nil }, sent: "", err: update.ErrIdentityChanged, result: "Error",
	}, {
		name:   "no resourceVersion",
		reason: "the write would be unconditional",
		mutate: func(p *corev1.Pod) error { p.ResourceVersion = ""; return nil }, sent: "", err: update.ErrIdentityChanged, result: "Error",
	}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Log(tc.reason)
			s := newServer(pod())
			s.gets, s.puts = tc.gets, tc.puts
			object := cached(t, s, pod())
			untouched := object.DeepCopy()

			result, err := update.Do(t.Context(), s.updater(t), object, tc.mutate)
			if !matches(err, tc.err) {
				t.Errorf("error = %v, want %v", err, tc.err)
			}
			if errors.Is(err, apply.ErrRefused) != errors.Is(tc.err, apply.ErrRefused) {
				t.Errorf("refused: error = %v, want %v", err, tc.err)
			}
			if (err == nil) != (result.Object != nil) {
				t.Errorf("object in the result: %v, error: %v", result.Object, err)
			}
			if s.sent() != tc.sent {
				t.Errorf("sent %q, want %q", s.sent(), tc.sent)
			}
			want := apply.UpdateObservation{
				FieldManager: "test", Kind: corev1.SchemeGroupVersion.WithKind("Pod"), Verb: "Do",
				Result: tc.result, Attempts: tc.attempts, StaleWrites: tc.stale,
			}
			if len(s.observed) != 1 {
				t.Fatalf("%d observations, want 1", len(s.observed))
			}
			s.observed[0].Duration, s.observed[0].Waited = 0, 0
			if diff := cmp.Diff(want, s.observed[0]); diff != "" {
				t.Errorf("observation (-want +got):\n%s", diff)
			}
			if result.Attempts != tc.attempts || result.StaleWrites != tc.stale || result.Changed != tc.changed {
				t.Errorf("result = %+v, want %d attempts, %d stale, changed %v", result, tc.attempts, tc.stale, tc.changed)
			}
			if diff := cmp.Diff(untouched, object); diff != "" {
				t.Errorf("the object handed in was written to (-before +after):\n%s", diff)
			}
		})
	}
}

// matches is errors.Is, and for errors of the API server the same reason.
func matches(err, want error) bool {
	if want == nil || err == nil {
		return err == want //nolint:errorlint // both nil
	}
	reason := apierrors.ReasonForError(want)
	return errors.Is(err, want) || reason != metav1.StatusReasonUnknown && apierrors.ReasonForError(err) == reason
}

func TestStatus(t *testing.T) {
	s := newServer(pod())
	object := cached(t, s, pod())
	s.puts = []answer{with(staleWrite())}
	result, err := update.Status(t.Context(), s.updater(t), object, func(p *corev1.Pod) error {
		p.Status.Phase = corev1.PodFailed
		return nil
	})
	if err != nil || s.sent() != "GET PUT status GET PUT status" || s.observed[0].Verb != "Status" {
		t.Errorf("sent %q, error %v", s.sent(), err)
	}
	if !result.Changed || result.Object.Status.Phase != corev1.PodFailed {
		t.Errorf("result %+v", result)
	}
	if slices.Contains(s.untracked, false) {
		t.Error("a client that reads typed objects was not told so: it would watch unstructured ones")
	}
}

// A write that the server accepts and drops is no change.
func TestChangedMeansANewResourceVersion(t *testing.T) {
	s := newServer(pod())
	s.puts = []answer{with(nil)}
	result, err := update.Do(t.Context(), s.updater(t), cached(t, s, pod()), label)
	if err != nil || result.Changed || s.sent() != "GET PUT" {
		t.Errorf("sent %q, changed %v, %v", s.sent(), result.Changed, err)
	}
}

func TestContextEndsDuringTheRequest(t *testing.T) {
	s := newServer(pod())
	ctx, cancel := context.WithCancel(t.Context())
	s.puts = []answer{func(func() error) error { cancel(); return fmt.Errorf("put: %w", ctx.Err()) }}
	_, err := update.Do(ctx, s.updater(t), cached(t, s, pod()), label)
	if !errors.Is(err, context.Canceled) || s.observed[0].Result != "Cancelled" {
		t.Errorf("error = %v, observed %+v", err, s.observed)
	}
}
