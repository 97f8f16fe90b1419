package lanes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply/lanes"
)

// network is an API server that does one write of an object at a time, each with some
// time on the way. It is in the time of a synctest bubble.
type network struct {
	t      *testing.T
	set    *lanes.Set
	write  time.Duration // that the server needs for one
	server chan struct{} // holds one

	mu                    sync.Mutex
	trip                  func() time.Duration
	ping                  func(context.Context) (permitted bool, err error)
	under, most, done     int // writes
	probes, probesAtATime int
}

// otherTrips is what every request is longer on the way than the network makes it.
const otherTrips = 300 * time.Microsecond

func newNetwork(t *testing.T, set *lanes.Set, trip time.Duration) *network {
	t.Helper()
	n := &network{t: t, set: set, server: make(chan struct{}, 1), write: 4 * time.Millisecond, trip: func() time.Duration { return trip + otherTrips }}
	n.ping = func(context.Context) (permitted bool, err error) {
		time.Sleep(n.onTheWay())
		return true, nil
	}
	return n
}

// send is one write, inside.
func (n *network) send(inside context.Context) {
	lanes.Measure(inside, n.measures)
	n.count(&n.under, 1)
	trip := n.onTheWay()
	time.Sleep(trip / 2)
	n.server <- struct{}{}
	time.Sleep(n.write)
	<-n.server
	time.Sleep(trip / 2)
	n.count(&n.under, -1)
	n.count(&n.done, 1)
}

func (n *network) onTheWay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.trip()
}

// measures is one measurement of the round-trip time.
func (n *network) measures(ctx context.Context) (permitted bool, err error) {
	n.count(&n.probes, 1)
	n.count(&n.probesAtATime, 1)
	defer n.count(&n.probesAtATime, -1)
	n.mu.Lock()
	ping := n.ping
	n.mu.Unlock()
	return ping(ctx)
}

func (n *network) becomes(change func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change()
}

func (n *network) count(of *int, by int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	*of += by
	n.most = max(n.most, n.under)
	if n.probesAtATime > 1 {
		n.t.Error("the round trip is measured twice at a time")
	}
}

// writers write to one object until the context ends, for so many field managers.
func (n *network) writers(ctx context.Context, number, managers int) (end func()) {
	var all sync.WaitGroup
	for i := range number {
		all.Go(func() {
			for ctx.Err() == nil {
				inside, leave, err := n.set.Join(ctx, deploymentNamed("web"), fmt.Sprint("m", i%managers))
				if err == nil {
					n.send(inside)
				}
				leave()
			}
		})
	}
	return all.Wait
}

// during counts the writes done in some time, and how many were under way at a time.
func (n *network) during(d time.Duration) (done, most int) {
	n.mu.Lock()
	before := n.done
	n.most = 0
	n.mu.Unlock()
	time.Sleep(d)
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.done - before, n.most
}

// write has writers write for some seconds, and counts what they do in the last of them.
func writesOver(t *testing.T, set *lanes.Set, writers, managers int, trip time.Duration) (done, most int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, set, trip)
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, writers, managers)
		time.Sleep(2 * time.Second)
		done, most = n.during(time.Second)
		cancel()
		end()
		if set.Held() > 1 {
			t.Errorf("%d lanes are held", set.Held())
		}
		time.Sleep(2 * time.Second)
		if set.Held() != 0 || set.Busy() != 0 {
			t.Errorf("%d lanes are held, %d busy, of objects that nobody writes to", set.Held(), set.Busy())
		}
	})
	return done, most
}

// TestWidthKeepsTheServerBusy: the lane is as wide as is best, and no wider than needed.
func TestWidthKeepsTheServerBusy(t *testing.T) {
	for _, trip := range []time.Duration{0, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		for _, writers := range []int{1, 4, 64} {
			for _, managers := range []int{4, 16} {
				best, narrowest := 0, 0
				for width := 1; width <= 8; width++ {
					done, _ := writesOver(t, lanes.OfWidth(width), writers, managers, trip)
					if done > best*102/100 {
						best, narrowest = done, width
					}
				}
				done, most := writesOver(t, lanes.New(), writers, managers, trip)
				if done < best*9/10 || most > narrowest+2 {
					t.Errorf("%v, %d writers, %d managers: %d writes, up to %d at a time; the best width %d has %d",
						trip, writers, managers, done, most, narrowest, best)
				}
			}
		}
	}
}

// TestWidthFollowsTheNetwork from no delay to 5 ms and back: each time the best width is
// there within two seconds.
func TestWidthFollowsTheNetwork(t *testing.T) {
	best, _ := writesOver(t, lanes.OfWidth(4), 16, 4, 5*time.Millisecond)
	synctest.Test(t, func(t *testing.T) {
		trip := time.Duration(0)
		n := newNetwork(t, lanes.New(), 0)
		n.trip = func() time.Duration { return trip + otherTrips }
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 16, 4)
		for range 3 {
			n.becomes(func() { trip = 0 })
			time.Sleep(2 * time.Second)
			if _, most := n.during(time.Second); most != 1 {
				t.Errorf("without delay %d at a time", most)
			}
			n.becomes(func() { trip = 5 * time.Millisecond })
			time.Sleep(2 * time.Second)
			if done, most := n.during(time.Second); done < best*9/10 {
				t.Errorf("with 5 ms %d writes a second, %d at a time; the best width has %d", done, most, best)
			}
		}
		cancel()
		end()
	})
}

// TestServerStalls: nothing more is sent to a server that does not answer, and the width is what it was soon after.
func TestServerStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, lanes.New(), 5*time.Millisecond)
		answered := n.ping
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 16, 4)
		time.Sleep(2 * time.Second)
		before, wide := n.during(2 * time.Second)

		n.becomes(func() {
			n.ping = func(ctx context.Context) (permitted bool, err error) {
				<-ctx.Done()
				return true, ctx.Err()
			}
		})
		n.server <- struct{}{}
		time.Sleep(30 * time.Second)
		if width := n.set.Width(deploymentNamed("web")); width != 1 {
			t.Errorf("the width is %d while the server stalls", width)
		}
		n.becomes(func() { n.ping = answered })
		<-n.server

		time.Sleep(2 * time.Second)
		if after, most := n.during(2 * time.Second); after < before*95/100 || most < wide {
			t.Errorf("%d writes, %d at a time after the stall; %d, %d before", after, most, before, wide)
		}
		cancel()
		end()
	})
}

// TestJitter: what a proxy delays some requests by does not make the lane wander.
func TestJitter(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, lanes.New(), 0)
		n.trip = func() time.Duration {
			return 5*time.Millisecond + time.Duration(random.Int64N(int64(10*time.Millisecond)))
		}
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 64, 16)
		time.Sleep(2 * time.Second)
		for range 20 {
			if _, most := n.during(time.Second); most < 3 || most > 6 {
				t.Errorf("%d at a time", most)
			}
		}
		cancel()
		end()
	})
}

// TestPaceIsRememberedForAMoment after the last writer has left, whoever comes meanwhile.
func TestPaceIsRememberedForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n, object := newNetwork(t, lanes.New(), 20*time.Millisecond), deploymentNamed("web")
		ctx, cancel := context.WithCancel(t.Context())
		end := n.writers(ctx, 16, 16)
		time.Sleep(2 * time.Second)
		before := n.set.Width(object)
		cancel()
		end()
		time.Sleep(100 * time.Millisecond) // for a measurement
		if n.set.Held() != 0 {
			t.Errorf("%d lanes are held after the last writer has left", n.set.Held())
		}
		want := func(reason string, least, most int) {
			t.Helper()
			_, leave := enter(t.Context(), t, n.set, object)
			if width := n.set.Width(object); width < least || width > most {
				t.Errorf("%s: the width is %d, and was %d", reason, width, before)
			}
			leave()
		}
		for range 2 {
			want("one is back", 2, before)
		}
		time.Sleep(time.Second)
		want("the pace is old", 1, 1)
	})
}

// TestPacesAreBounded: the Set does not remember each object in whose lane writers have waited.
func TestPacesAreBounded(t *testing.T) {
	set := lanes.New()
	for i := range 5000 {
		object := deploymentNamed(fmt.Sprint("web-", i))
		_, first, err := set.Join(t.Context(), object, "m1")
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		all.Go(func() {
			_, leave, _ := set.Join(t.Context(), object, "m2")
			leave()
		})
		for set.Queued(object) < 2 {
			runtime.Gosched()
		}
		first()
		all.Wait()
		if paces := set.Paces(); paces > 1024 || i == 0 && paces != 1 {
			t.Fatalf("after %d objects, %d are remembered", i+1, paces)
		}
	}
}
