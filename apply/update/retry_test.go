package update_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
)

var errTransient = errors.New("transient")

// failing gives a function that fails so often, then succeeds.
func failing(times int, with error) func(context.Context) error {
	return func(context.Context) error {
		if times--; times >= 0 {
			return with
		}
		return nil
	}
}

func TestExhausted(t *testing.T) {
	_, err := update.Repeat(t.Context(), immediate(4), failing(99, staleWrite()))
	var exhausted *update.ExhaustedError
	if !errors.As(err, &exhausted) || exhausted.Attempts != 4 || exhausted.Err == nil {
		t.Fatalf("error = %#v, want an ExhaustedError of 4 attempts", err)
	}
	if !strings.HasPrefix(err.Error(), "gave up on Pod ns/pod after 4 attempts: ") {
		t.Errorf("message %q does not say how many attempts", err)
	}
}

// The worked example: 2 s, factor 2, jitter 0.1, 10 steps against an operation
// that fails 9 times in 10. Jitter only adds, at most 10 %.
func TestWorkedExample(t *testing.T) {
	backoff := wait.Backoff{Duration: 2 * time.Second, Factor: 2, Jitter: 0.1, Steps: 10}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		attempts, err := update.Repeat(t.Context(), backoff, failing(9, errTransient))
		if attempts != 10 || err != nil {
			t.Errorf("%d attempts, %v; want 10 and success", attempts, err)
		}
		least := 1022 * time.Second // 2 + 4 + ... + 512
		if took := time.Since(start); took < least || took > least+least/10 {
			t.Errorf("waited %v, want %v to 10 %% more", took, least)
		}
	})
}

func TestReadyBackoffs(t *testing.T) {
	ms := time.Millisecond
	for _, tc := range []struct {
		name    string
		backoff wait.Backoff
		waits   []time.Duration // the shortest; jitter may add 10 %
	}{
		{"DefaultRetry", update.DefaultRetry, []time.Duration{10 * ms, 10 * ms, 10 * ms, 10 * ms}},
		{"Exponential", update.Exponential, []time.Duration{100 * ms, 200 * ms, 400 * ms}},
		{"no waits", immediate(3), []time.Duration{0, 0}},
		{"equal waits", fixed(time.Second, 3), []time.Duration{time.Second, time.Second}},
		{"one attempt", fixed(time.Second, 1), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var calls []time.Time
				attempts, err := update.Repeat(t.Context(), tc.backoff, func(context.Context) error {
					calls = append(calls, time.Now())
					return errTransient
				})
				if !errors.Is(err, update.ErrExhausted) || attempts != len(tc.waits)+1 {
					t.Fatalf("%d attempts, %v; want %d and ErrExhausted", attempts, err, len(tc.waits)+1)
				}
				for i, want := range tc.waits {
					got := calls[i+1].Sub(calls[i])
					most := want + time.Duration(tc.backoff.Jitter*float64(want))
					if got < want || got > most {
						t.Errorf("wait %d = %v, want %v to %v", i+1, got, want, most)
					}
				}
				if last := calls[len(calls)-1]; !time.Now().Equal(last) {
					t.Errorf("waited %v after the last attempt", time.Since(last))
				}
			})
		})
	}
}

func TestContextEndsDuringTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
		defer cancel()
		start := time.Now()
		attempts, err := update.Repeat(ctx, fixed(time.Minute, 5), failing(99, staleWrite()))
		if took := time.Since(start); took != 90*time.Second {
			t.Errorf("returned after %v, want with the context", took)
		}
		var interrupted *update.InterruptedError
		if attempts != 2 || !errors.As(err, &interrupted) || interrupted.Attempts != 2 {
			t.Fatalf("%d attempts, %v; want an InterruptedError of 2", attempts, err)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !isConflict(err) {
			t.Errorf("error %v lacks the context's or the last write's", err)
		}
		if !strings.HasPrefix(err.Error(), "the write of Pod ns/pod was interrupted after 2 attempts: context deadline exceeded; last error: ") {
			t.Errorf("message %q", err)
		}
	})
}

func TestContextCancelledDuringTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			_, err := update.Repeat(ctx, fixed(time.Hour, 2), failing(99, staleWrite()))
			done <- err
		}()
		synctest.Wait() // until it waits for its second attempt
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want context.Canceled", err)
		}
	})
}

func TestContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	attempts, err := update.Repeat(ctx, update.DefaultRetry, func(context.Context) error {
		t.Error("called although the context had ended")
		return nil
	})
	if attempts != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d attempts, %v; want none and context.Canceled", attempts, err)
	}
	if got, want := err.Error(), "the write of Pod ns/pod was interrupted after 0 attempts: context canceled"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	interrupted, ok := errors.AsType[*update.InterruptedError](err)
	if !ok || slices.Contains(interrupted.Unwrap(), nil) {
		t.Errorf("error = %#v, want an InterruptedError that wraps no nil", err)
	}
}

func TestMessages(t *testing.T) {
	pod := apply.ObjectRef{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), NamespacedName: types.NamespacedName{Namespace: "ns", Name: "pod"}}
	for want, err := range map[string]error{
		"gave up on Pod ns/pod after 1 attempt: transient":                                          &update.ExhaustedError{Object: pod, Attempts: 1, Err: errTransient},
		"gave up on Pod ns/pod after 2 attempts: transient":                                         &update.ExhaustedError{Object: pod, Attempts: 2, Err: errTransient},
		"the write of Pod ns/pod was interrupted after 0 attempts: transient":                       &update.InterruptedError{Object: pod, Context: errTransient},
		"the write of Pod ns/pod was interrupted after 1 attempt: transient; last error: transient": &update.InterruptedError{Object: pod, Attempts: 1, Context: errTransient, Err: errTransient},
	} {
		if err.Error() != want {
			t.Errorf("message %q, want %q", err, want)
		}
	}
}
