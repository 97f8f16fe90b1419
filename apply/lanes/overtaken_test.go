package lanes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply/lanes"
)

// TestOvertakenMakesNarrow: each overtaken write makes the lane narrower, down to the width 1. After any number of
// overtaken writes, the lane soon returns to its former width.
func TestOvertakenMakesNarrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, lanes.New(), 20*time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 16, 16)
		time.Sleep(2 * time.Second)
		object := deploymentNamed("web")
		before := n.set.Width(object)
		inside, leave, err := n.set.Join(t.Context(), object, "another")
		if err != nil {
			t.Fatal(err)
		}
		lanes.Overtaken(inside)
		narrow := n.set.Width(object)
		if narrow >= before || narrow < 1 {
			t.Errorf("the width was %d, and is %d after a write was overtaken", before, narrow)
		}
		for overtaken := range 100 {
			lanes.Overtaken(inside)
			if width := n.set.Width(object); width > narrow {
				t.Errorf("the width was %d, and is %d after %d writes were overtaken", narrow, width, overtaken+2)
			}
			narrow = n.set.Width(object)
		}
		if narrow != 1 {
			t.Errorf("the width is %d after 101 writes were overtaken", narrow)
		}
		leave()
		time.Sleep(2 * time.Second)
		if after := n.set.Width(object); after < before-1 {
			t.Errorf("the width was %d, and is %d two seconds after the last write was overtaken", before, after)
		}
		cancel()
		end()
	})
}
