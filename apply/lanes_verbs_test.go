package apply_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/apply/ownership"
)

func enter(ctx context.Context, t *testing.T, set *lanes.Set, object apply.ObjectRef) (inside context.Context, leave func()) {
	t.Helper()
	inside, leave, err := set.Enter(ctx, object.Key())
	if err != nil {
		t.Fatal(err)
	}
	return inside, leave
}

// TestLaneIsFreeDuringBackOff has another writer wait for the lane from the first
// request on: every request is sent inside the lane, and he gets his turn where the
// apply waits before it tries again, or a release has read the object.
func TestLaneIsFreeDuringBackOff(t *testing.T) {
	for reason, test := range map[string]struct {
		happens func(*world)
		sent    []string
		verb    func(context.Context, *apply.Applier) error
		before  int // the request before which the other has his turn
	}{
		"what failed for the moment": {allOf(alone, fails(1, unavailable)), []string{whole, whole}, applies3, 1},
		"settling":                   {allOf(before(4, touched), before(6, alone)), []string{whole, read, whole, forces, read, whole}, applies3, 4},
		"releasing":                  {owned(entriesOf("")...), []string{read, pinned}, releasesWeb, 1},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lanes, hadHisTurn := lanes.OfWidth(1), false // and nothing is measured
				w := newWorld(t)
				test.happens(w)
				w.sending(func(n int) {
					if n == 1 {
						go func() {
							_, leave := enter(t.Context(), t, lanes, webAt(""))
							hadHisTurn = true
							leave()
						}()
					}
					synctest.Wait()
					if lanes.Busy() != 1 || hadHisTurn != (n > test.before) {
						t.Errorf("request %d: %d inside, the other had his turn: %t", n, lanes.Busy(), hadHisTurn)
					}
				})
				if err := test.verb(t.Context(), w.applierOf(apply.Config{Policy: force, Lanes: lanes})); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if !hadHisTurn || lanes.Busy() != 0 {
					t.Errorf("the other had his turn: %t; %d inside in the end", hadHisTurn, lanes.Busy())
				}
				w.WantSent(test.sent...)
			})
		})
	}
}

// sending calls a function before each request, with the number of the request.
func (w *world) sending(do func(n int)) {
	w.wrap = append(w.wrap, func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			do(w.Sent() + 1)
			return next.RoundTrip(request)
		})
	})
}

func applies3(ctx context.Context, a *apply.Applier) error {
	_, err := a.Apply(ctx, apply.Intent{Config: threeReplicas()})
	return err
}

func releasesWeb(ctx context.Context, a *apply.Applier) error {
	_, err := ownership.Release(ctx, a, webAt(""))
	return err
}

// TestVerbsWaitForTheLane: nothing is sent while another one is inside, waiting ends
// with the context, and who is inside himself is told at once.
func TestVerbsWaitForTheLane(t *testing.T) {
	for reason, verb := range map[string]func(context.Context, *apply.Applier) error{"Apply": applies3, "Release": releasesWeb} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := lanes.New()
				inside, leave := enter(t.Context(), t, set, webAt(""))
				defer leave()
				w := newWorld(t)
				seen := &observer{}
				applier := w.applierOf(apply.Config{Lanes: set, Metrics: seen})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := verb(ctx, applier); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("outside: %v", err)
				}
				if err := verb(inside, applier); !errors.Is(err, lanes.ErrReentry) {
					t.Errorf("inside: %v", err)
				}
				if reason == "Apply" && (len(seen.seen) != 2 || seen.seen[0].Waited != time.Minute || seen.seen[1].Waited != 0) {
					t.Errorf("observed %+v", seen.seen)
				}
				w.WantSent()
			})
		})
	}
}

// TestPlanWaitsForNobody, as it changes nothing, nor where it settles conflicts.
func TestPlanWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lanes := lanes.New()
		_, leave := enter(t.Context(), t, lanes, webAt(""))
		defer leave()
		w := newWorld(t)
		plan, err := w.applierOf(apply.Config{Policy: force, Lanes: lanes}).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || len(plan.Conflicts) != 1 {
			t.Errorf("%v, %v", plan, err)
		}
		w.WantSent(read, tries, read, tries, triesForce)
	})
}

// join has another manager inside the lane for a second.
func join(t *testing.T, set *lanes.Set) (left *atomic.Bool) {
	t.Helper()
	_, leave, err := set.Join(t.Context(), webAt("").Key(), "other")
	if err != nil {
		t.Fatal(err)
	}
	left = &atomic.Bool{}
	time.AfterFunc(time.Second, func() { left.Store(true); leave() })
	return left
}

// TestAloneBesideAnother: what settles, and what creates an object, waits until nobody else is
// inside. The wait is observed, and ends with the context.
func TestAloneBesideAnother(t *testing.T) {
	intent, born := apply.Intent{Config: threeReplicas()}, apply.Intent{Config: bornWeb(), Belongs: isBornOurs}
	for reason, c := range map[string]struct {
		intent  apply.Intent
		happens func(*world)
		beside  int // requests that may be sent beside the other
		sent    []string
		within  time.Duration
		says    string
	}{
		"settles":             {intent, before(2, alone), 1, []string{whole, read, whole}, time.Minute, ""},
		"creates":             {born, allOf(removed, notCached), 0, []string{exclusive}, time.Minute, ""},
		"the context ends":    {intent, func(*world) {}, 1, []string{whole}, time.Second / 2, "waiting to write Deployment shop/web"},
		"before it can begin": {born, allOf(removed, notCached), 0, nil, time.Second / 2, "waiting to write Deployment shop/web"},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, seen := lanes.OfWidth(2), &observer{}
				left := join(t, set)
				w := newWorld(t)
				c.happens(w)
				w.sending(func(n int) {
					if n > c.beside && !left.Load() {
						t.Errorf("request %d is sent beside another manager's write", n)
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				_, err := w.applierOf(apply.Config{Policy: force, Lanes: set, Metrics: seen}).Apply(ctx, c.intent)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
				if want := min(c.within, time.Second); len(seen.seen) != 1 || seen.seen[0].Waited != want {
					t.Errorf("observed %+v, want a wait of %v", seen.seen, want)
				}
				w.WantSent(c.sent...)
				time.Sleep(time.Second)
			})
		})
	}
}

// TestPlanInsideALane settles beside others who are inside, as it changes nothing.
func TestPlanInsideALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := lanes.OfWidth(2)
		left := join(t, set)
		inside, leave, err := set.Join(t.Context(), webAt("").Key(), manager)
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
		w := newWorld(t)
		plan, err := w.applierOf(apply.Config{Lanes: set}).Plan(inside, apply.Intent{Config: threeReplicas()})
		if err != nil || !errors.Is(plan.Refused, apply.ErrConflict) || left.Load() {
			t.Errorf("%v, %v; the other has left: %t", plan, err, left.Load())
		}
		w.WantSent(read, tries, read)
		time.Sleep(2 * time.Second)
	})
}
