package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
)

func deploymentNamed(name string) lanes.Key {
	return lanes.Key{
		GroupKind:      schema.GroupKind{Group: "apps", Kind: "Deployment"},
		NamespacedName: types.NamespacedName{Namespace: "default", Name: name},
	}
}

func enter(ctx context.Context, t *testing.T, set *lanes.Set, object lanes.Key) (inside context.Context, leave func()) {
	t.Helper()
	inside, leave, err := set.Enter(ctx, object)
	if err != nil {
		t.Fatal(err)
	}
	return inside, leave
}

func TestLaneServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, object := lanes.New(), deploymentNamed("web")
		_, leave := enter(t.Context(), t, set, object)
		var order []int
		for i := range 5 {
			go func() {
				_, leave, err := set.Enter(t.Context(), object)
				if err != nil {
					t.Error(err)
				}
				defer leave()
				order = append(order, i)
			}()
			synctest.Wait() // it waits in the lane
		}
		if len(order) > 0 {
			t.Fatalf("%v entered a lane that was taken", order)
		}
		leave()
		// Who comes now comes last, though none of those who wait has run yet.
		_, leave = enter(t.Context(), t, set, object)
		leave()
		if want := []int{0, 1, 2, 3, 4}; !slices.Equal(order, want) {
			t.Errorf("served in the order %v before who came last", order)
		}
	})
}

func TestLaneOfWhoGivesUpWaiting(t *testing.T) {
	for _, at := range []int{0, 2, 4} { // the first in the queue, one in the middle, the last
		synctest.Test(t, func(t *testing.T) {
			set, object := lanes.New(), deploymentNamed("web")
			_, leave := enter(t.Context(), t, set, object)
			var order []int
			var gaveUp error
			waits, cancel := context.WithCancel(t.Context())
			for i := range 5 {
				ctx := t.Context()
				if i == at {
					ctx = waits
				}
				go func() {
					_, leave, err := set.Enter(ctx, object)
					defer leave()
					if err != nil {
						gaveUp = err
						return
					}
					order = append(order, i)
				}()
				synctest.Wait()
			}
			cancel()
			synctest.Wait()
			if !errors.Is(gaveUp, context.Canceled) || !strings.Contains(gaveUp.Error(), "Deployment default/web") {
				t.Errorf("number %d gave up with %v", at, gaveUp)
			}
			if inQueue := set.Queued(object); inQueue != 5 {
				t.Errorf("%d want the lane, want 5: who gave up left a trace", inQueue)
			}
			leave()
			synctest.Wait()
			if want := slices.DeleteFunc([]int{0, 1, 2, 3, 4}, func(i int) bool { return i == at }); !slices.Equal(order, want) {
				t.Errorf("served %v, want %v", order, want)
			}
		})
	}
}

func TestLaneIsNotEnteredAfterTheEnd(t *testing.T) {
	set, object := lanes.New(), deploymentNamed("web")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, leave, err := set.Enter(ended, object)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	leave() // harmless
	if n := set.Busy(); n != 0 {
		t.Errorf("%d lanes are taken", n)
	}
}

// TestLaneHandOverMeetsGivingUp has everybody give up at about the time when it is
// his turn: nobody is inside with another one, and the lane is free in the end.
func TestLaneHandOverMeetsGivingUp(t *testing.T) {
	set, object := lanes.New(), deploymentNamed("web")
	var inside, entered, gaveUp atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				ctx, cancel := context.WithCancel(t.Context())
				go cancel()
				_, leave, err := set.Enter(ctx, object)
				if err != nil {
					gaveUp.Add(1)
					continue
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d are inside", n)
				}
				runtime.Gosched() // others come, wait, and give up
				inside.Add(-1)
				entered.Add(1)
				leave()
			}
		})
	}
	all.Wait()
	if entered.Load() == 0 || gaveUp.Load() == 0 {
		t.Errorf("%d entered, %d gave up: nothing was tried", entered.Load(), gaveUp.Load())
	}
	if n := set.Busy(); n != 0 {
		t.Errorf("%d lanes are taken", n)
	}
}

func TestLaneEnteredFromInside(t *testing.T) {
	set, object, other := lanes.New(), deploymentNamed("web"), deploymentNamed("api")
	inside, leave := enter(t.Context(), t, set, object)
	insideBoth, leaveOther := enter(inside, t, set, other)
	derived, cancel := context.WithCancel(insideBoth)
	defer cancel()
	for reason, ctx := range map[string]context.Context{"itself": inside, "of another lane inside": insideBoth, "derived": derived} {
		_, leave, err := set.Enter(ctx, object)
		leave() // harmless
		var reentry *lanes.ReentryError
		if !errors.As(err, &reentry) || !errors.Is(err, lanes.ErrReentry) || reentry.Object != object {
			t.Errorf("%s: %v", reason, err)
		}
	}
	_, leaveOtherSet := enter(inside, t, lanes.New(), object) // not the same lane
	leaveOtherSet()
	leaveOther()
	leave()
	leave()
	_, leave = enter(inside, t, set, object) // who left is outside
	leave()
	if n := set.Busy(); n != 0 {
		t.Errorf("%d lanes are taken", n)
	}
}

func TestLeavingALaneTwiceFreesNobodyElses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, object := lanes.New(), deploymentNamed("web")
		_, leave := enter(t.Context(), t, set, object)
		leave()
		_, leaveNext := enter(t.Context(), t, set, object)
		leave()
		entered := false
		go func() {
			_, leave, _ := set.Enter(t.Context(), object)
			entered = true
			leave()
		}()
		synctest.Wait()
		if entered {
			t.Error("two are inside")
		}
		leaveNext()
	})
}

func TestLaneIsFreeAfterAPanic(t *testing.T) {
	set, object := lanes.New(), deploymentNamed("web")
	func() {
		defer func() { _ = recover() }()
		_, leave := enter(t.Context(), t, set, object)
		defer leave()
		panic("in a write")
	}()
	if n := set.Busy(); n != 0 {
		t.Errorf("%d lanes are taken", n)
	}
}

func TestLanesKeepNothingOfIdleObjects(t *testing.T) {
	set := lanes.New()
	for round := range 2 { // all at once, then again
		var leaves []func()
		for i := range 10_000 {
			_, leave := enter(t.Context(), t, set, deploymentNamed(fmt.Sprint("web-", i)))
			leaves = append(leaves, leave) // and nobody waited for another one
		}
		if n := set.Busy(); n != 10_000 {
			t.Errorf("%d lanes are taken", n)
		}
		for i, leave := range leaves {
			leave()
			if n := set.Held(); n != len(leaves)-1-i {
				t.Fatalf("round %d: %d lanes are held after %d have left", round, n, i+1)
			}
		}
	}
}

func BenchmarkLane(b *testing.B) {
	set, object, ctx := lanes.New(), deploymentNamed("web"), b.Context()
	b.Run("uncontended", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, leave, err := set.Enter(ctx, object)
			if err != nil {
				b.Fatal(err)
			}
			leave()
		}
	})
	b.Run("distinct objects", func(b *testing.B) {
		b.ReportAllocs()
		var next atomic.Int32
		b.RunParallel(func(pb *testing.PB) {
			mine := deploymentNamed(fmt.Sprint("web-", next.Add(1)))
			for pb.Next() {
				if _, leave, err := set.Enter(ctx, mine); err == nil {
					leave()
				}
			}
		})
	})
	b.Run("64 writers of one object", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, leave, err := set.Enter(ctx, object); err == nil {
					leave()
				}
			}
		})
	})
}
