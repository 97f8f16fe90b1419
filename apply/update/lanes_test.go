package update_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/update"
)

// taking gives an updater and the way into its lane.
func (s *server) taking(t *testing.T, backoff wait.Backoff) (u *update.Updater, enter func() (leave func())) {
	t.Helper()
	lanes := lanes.New()
	u, err := update.New(update.Config{
		Client: s.client, LiveReader: s.client, FieldManager: "test", Backoff: backoff, Metrics: s, Lanes: lanes,
	})
	if err != nil {
		t.Fatal(err)
	}
	object := apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Pod"), NamespacedName: client.ObjectKeyFromObject(pod()),
	}
	return u, func() func() {
		_, leave, err := lanes.Enter(t.Context(), object.Key())
		if err != nil {
			t.Fatal(err)
		}
		return leave
	}
}

// The read is inside the lane as well: what is read before the turn comes is stale
// when it has come.
func TestAttemptWaitsForTheLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		u, enter := s.taking(t, immediate(1))
		object := cached(t, s, pod())
		leave, done := enter(), make(chan error)
		go func() {
			_, err := update.Do(t.Context(), u, object, label)
			done <- err
		}()
		synctest.Wait()
		if s.sent() != "" {
			t.Errorf("sent %q from outside the lane", s.sent())
		}
		s.foreignWrite(t, object, func(o client.Object) { o.SetAnnotations(map[string]string{"theirs": "1"}) })
		time.Sleep(3 * time.Second)
		leave()
		if err := <-done; err != nil || s.sent() != "GET PUT" || s.observed[0].Waited != 3*time.Second {
			t.Errorf("sent %q, %v, observed %+v; want a read of what was written before, and 3 s of waiting", s.sent(), err, s.observed)
		}
	})
}

func TestNothingToWriteWaitsForNobody(t *testing.T) {
	s := newServer(pod())
	u, enter := s.taking(t, immediate(1))
	defer enter()()
	if _, err := update.Do(t.Context(), u, cached(t, s, pod()), func(*corev1.Pod) error { return nil }); err != nil {
		t.Error(err)
	}
}

func TestContextEndsInFrontOfTheLane(t *testing.T) {
	for name, puts := range map[string][]answer{"the first attempt": nil, "the second": {with(staleWrite())}} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(pod())
			s.puts = puts
			u, enter := s.taking(t, fixed(time.Second, 5))
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if len(puts) == 0 {
				defer enter()()
			} else {
				time.AfterFunc(time.Second/2, func() { context.AfterFunc(t.Context(), enter()) })
			}
			start := time.Now()
			result, err := update.Do(ctx, u, cached(t, s, pod()), label)
			interrupted, ok := errors.AsType[*update.InterruptedError](err)
			if !ok || !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
				t.Fatalf("%s: %v after %v, want an InterruptedError with the context", name, err, time.Since(start))
			}
			attempts := len(puts)
			if result.Attempts != attempts || interrupted.Attempts != attempts || interrupted.Object.Name != "pod" || len(s.requests) != 2*attempts {
				t.Errorf("%s: %+v, %#v, sent %q", name, result, interrupted, s.sent())
			}
			if (attempts > 0) != errors.Is(err, apply.ErrStaleWrite) || s.observed[0].Result != "Cancelled" {
				t.Errorf("%s: %v, observed %+v", name, err, s.observed)
			}
		})
	}
}

func TestTheLaneIsFreeDuringBackOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(pod())
		s.puts = []answer{with(staleWrite())}
		u, enter := s.taking(t, fixed(time.Hour, 2))
		object, done := cached(t, s, pod()), make(chan error)
		go func() {
			_, err := update.Do(t.Context(), u, object, label)
			done <- err
		}()
		synctest.Wait() // in the hour after the stale write
		start := time.Now()
		leave := enter()
		if took := time.Since(start); took != 0 || s.sent() != "GET PUT" {
			t.Errorf("the lane was free after %v, sent %q", took, s.sent())
		}
		leave()
		if err := <-done; err != nil || s.sent() != "GET PUT GET PUT" {
			t.Errorf("sent %q, %v", s.sent(), err)
		}
	})
}

// What a panic leaves behind is a lane that is free.
func TestAPanicLeavesTheLane(t *testing.T) {
	s := newServer(pod())
	u, enter := s.taking(t, immediate(1))
	object := cached(t, s, &corev1.Pod{ObjectMeta: pod().ObjectMeta})
	calls := 0
	func() {
		defer func() { _ = recover() }()
		_, _ = update.Do(t.Context(), u, object, func(p *corev1.Pod) error {
			if calls++; calls == 2 {
				panic("inside the lane")
			}
			return label(p)
		})
	}()
	ended := make(chan struct{})
	go func() { enter()(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the lane is taken for ever")
	}
}

// It would wait for itself.
func TestFromInsideTheLane(t *testing.T) {
	s := newServer(pod())
	set := lanes.New()
	u, err := update.New(update.Config{Client: s.client, LiveReader: s.client, FieldManager: "test", Lanes: set})
	if err != nil {
		t.Fatal(err)
	}
	object := cached(t, s, pod())
	inside, leave, err := set.Enter(t.Context(), lanes.Key{
		GroupKind: schema.GroupKind{Kind: "Pod"}, NamespacedName: client.ObjectKeyFromObject(object),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	result, err := update.Do(inside, u, object, label)
	if !errors.Is(err, lanes.ErrReentry) || result.Attempts != 0 || s.sent() != "" {
		t.Errorf("%+v, %v, sent %q; want ErrReentry before any request", result, err, s.sent())
	}
}
