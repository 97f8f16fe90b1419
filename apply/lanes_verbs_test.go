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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
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
// apply waits before it tries again.
func TestLaneIsFreeDuringBackOff(t *testing.T) {
	for reason, test := range map[string]struct {
		steps  []step
		verb   func(context.Context, *apply.Applier) error
		before int // the request before which the other has his turn
	}{
		"what failed for the moment": {
			steps: []step{{"PATCH", fail(apierrors.NewServiceUnavailable("no leader"))}, {"PATCH", ok(web("uid-1", "8"))}}, verb: applies3, before: 1,
		},
		"settling": {
			steps: []step{
				{"PATCH", conflict(hpaReplicas)}, {"GET", ok(web("uid-1", "7"))}, {"PATCH", conflict(hpaReplicas)},
				{"PATCH uid=uid-1 resourceVersion=7 force", stale()},
				{"GET", ok(web("uid-1", "8"))}, {"PATCH", ok(web("uid-1", "9"))},
			},
			verb: applies3, before: 4,
		},
		"releasing": {
			steps: []step{
				{"GET", ok(ours("uid-1", "7", ""))}, {"PATCH uid=uid-1", ok(web("uid-1", "8"))},
			},
			verb: releases, before: 2,
		},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lanes, hadHisTurn, sent := lanes.OfWidth(1), false, 0 // and nothing is measured
				for i := range test.steps {
					answer := test.steps[i].answer
					test.steps[i].answer = func(request *http.Request) (*http.Response, error) {
						if sent++; sent == 1 {
							go func() {
								_, leave := enter(t.Context(), t, lanes, webAt(""))
								hadHisTurn = true
								leave()
							}()
						}
						synctest.Wait()
						if lanes.Busy() != 1 || hadHisTurn != (sent > test.before) {
							t.Errorf("request %d: %d inside, the other had his turn: %t", sent, lanes.Busy(), hadHisTurn)
						}
						return answer(request)
					}
				}
				s := newScript(t, test.steps)
				applier := s.applierOver(s.restConfig(true), apply.Config{Policy: force, Lanes: lanes}, nil)
				if err := test.verb(t.Context(), applier); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if !hadHisTurn || lanes.Busy() != 0 {
					t.Errorf("the other had his turn: %t; %d inside in the end", hadHisTurn, lanes.Busy())
				}
			})
		})
	}
}

func applies3(ctx context.Context, a *apply.Applier) error {
	_, err := a.Apply(ctx, apply.Intent{Config: threeReplicas()})
	return err
}

func releases(ctx context.Context, a *apply.Applier) error {
	_, err := a.Release(ctx, webAt("uid-1"))
	return err
}

// TestVerbsWaitForTheLane: nothing is sent while another one is inside, waiting ends
// with the context, and who is inside himself is told at once.
func TestVerbsWaitForTheLane(t *testing.T) {
	for reason, verb := range map[string]func(context.Context, *apply.Applier) error{"Apply": applies3, "Release": releases} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set := lanes.New()
				inside, leave := enter(t.Context(), t, set, webAt(""))
				defer leave()
				s := newScript(t, nil)
				seen := &observer{}
				applier := s.applierOver(s.restConfig(true), apply.Config{Lanes: set, Metrics: seen}, nil)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				if err := verb(ctx, applier); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("outside: %v", err)
				}
				if err := verb(inside, applier); !errors.Is(err, lanes.ErrReentry) {
					t.Errorf("inside: %v", err)
				}
				if len(seen.seen) != 2 || seen.seen[0].Waited != time.Minute || seen.seen[1].Waited != 0 {
					t.Errorf("observed %+v", seen.seen)
				}
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
		read := step{"GET", ok(web("uid-1", "7"))}
		s := newScript(t, []step{read, {"PATCH", conflict(hpaReplicas)}, read, {"PATCH", conflict(hpaReplicas)},
			{"PATCH uid=uid-1 resourceVersion=7 force", ok(ownedWith("uid-1", "7", 3))}})
		plan, err := s.planner(apply.Config{Policy: force, Lanes: lanes}, true).Plan(t.Context(), apply.Intent{Config: threeReplicas()})
		if err != nil || len(plan.Conflicts) != 1 {
			t.Errorf("%v, %v", plan, err)
		}
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
	intent, born := apply.Intent{Config: threeReplicas()}, apply.Intent{Config: threeReplicas(), Belongs: isBornOurs}
	refused := step{"PATCH", conflict(hpaReplicas)}
	for reason, c := range map[string]struct {
		intent apply.Intent
		first  []step // may be sent beside the other
		steps  []step
		within time.Duration
		says   string
	}{
		"settles":             {intent, []step{refused}, []step{{"GET", ok(web("uid-1", "7"))}, {"PATCH", ok(web("uid-1", "8"))}}, time.Minute, ""},
		"creates":             {born, nil, []step{{"PATCH resourceVersion=1", created(bornOurs("uid-1", "7"))}}, time.Minute, ""},
		"the context ends":    {intent, []step{refused}, nil, time.Second / 2, "waiting to write Deployment shop/web"},
		"before it can begin": {born, nil, nil, time.Second / 2, "waiting to write Deployment shop/web"},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, seen := lanes.OfWidth(2), &observer{}
				left := join(t, set)
				for i, s := range c.steps {
					c.steps[i].answer = func(request *http.Request) (*http.Response, error) {
						if !left.Load() {
							t.Errorf("%s is sent beside another manager's write", s.request)
						}
						return s.answer(request)
					}
				}
				s := newScript(t, append(c.first, c.steps...))
				ctx, cancel := context.WithTimeout(t.Context(), c.within)
				defer cancel()
				_, err := s.applierOver(s.restConfig(true), apply.Config{Policy: force, Lanes: set, Metrics: seen}, cache{}).Apply(ctx, c.intent)
				if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("error %v, want %q", err, c.says)
				}
				if want := min(c.within, time.Second); len(seen.seen) != 1 || seen.seen[0].Waited != want {
					t.Errorf("observed %+v, want a wait of %v", seen.seen, want)
				}
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
		read := step{"GET", ok(web("uid-1", "7"))}
		s := newScript(t, []step{read, {"PATCH", conflict(hpaReplicas)}, read})
		plan, err := s.planner(apply.Config{Lanes: set}, true).Plan(inside, apply.Intent{Config: threeReplicas()})
		if err != nil || !errors.Is(plan.Refused, apply.ErrConflict) || left.Load() {
			t.Errorf("%v, %v; the other has left: %t", plan, err, left.Load())
		}
		time.Sleep(2 * time.Second)
	})
}
