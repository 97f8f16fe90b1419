package lanes_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply/lanes"
)

// TestFarServer: a lane stays wide if the round trip to the API server is long, although the round trip is then
// measured rarely. About as many writes land as in a lane of the maximum width.
func TestFarServer(t *testing.T) {
	for _, trip := range []time.Duration{90 * time.Millisecond, 110 * time.Millisecond, 200 * time.Millisecond, 700 * time.Millisecond} {
		best, _ := farWrites(t, lanes.OfWidth(16), trip)
		done, narrowest := farWrites(t, lanes.New(), trip)
		if done < best*8/10 || narrowest < 2 {
			t.Errorf("%v: %d writes, and the width was down to %d; a lane that is 16 wide lands %d", trip, done, narrowest, best)
		}
	}
}

// farWrites counts the writes of 16 writers during 300 round trips, after the width of the lane has settled. It
// returns the minimum width as well.
func farWrites(t *testing.T, set *lanes.Set, trip time.Duration) (done, narrowest int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, set, trip)
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 16, 16)
		time.Sleep(100 * trip)
		narrowest = set.Width(deploymentNamed("web"))
		for range 300 {
			during, _ := n.during(trip)
			done += during
			narrowest = min(narrowest, set.Width(deploymentNamed("web")))
		}
		cancel()
		end()
		time.Sleep(2 * time.Second) // the pace is forgotten
	})
	return done, narrowest
}
