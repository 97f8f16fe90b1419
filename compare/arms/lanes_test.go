package arms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"coapply.dev/compare/history"
)

func TestLanesServeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lanes
		leave, err := l.enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				leave, err := l.enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				order = append(order, i)
				leave()
			})
			synctest.Wait() // it waits in the lane
		}
		if len(order) != 0 {
			t.Fatalf("%v entered a lane that was taken", order)
		}
		leave()
		all.Wait()
		if !slices.Equal(order, []int{0, 1, 2, 3, 4}) {
			t.Errorf("served in the order %v", order)
		}
	})
}

func TestLanesOfOtherObjectsAreFree(t *testing.T) {
	var l lanes
	for _, key := range []string{"a", "b"} {
		if _, err := l.enter(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWaitingForALaneEndsWithTheContext(t *testing.T) {
	var l lanes
	leave, err := l.enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.enter(ctx, "a")
	if !errors.Is(err, context.Canceled) || Classify(err) != history.Failed {
		t.Errorf("%v is %s, want a failure: nothing was sent", err, Classify(err))
	}
	leave()
	if _, err := l.enter(t.Context(), "a"); err != nil {
		t.Errorf("who gave up waiting still holds its place: %v", err)
	}
}
