package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"coapply.dev/apply/lanes"
)

// TestProbesAreFew: one measurement at a time for all objects together, none for those
// that one alone writes to, and none where they are refused.
func TestProbesAreFew(t *testing.T) {
	for reason, test := range map[string]struct {
		objects, each int // writers of each object
		permitted     bool
		err           error
		least, most   int // in ten seconds
	}{
		"nobody else writes to the object": {objects: 10_000, each: 1, permitted: true},
		"many objects of two writers":      {objects: 1000, each: 2, permitted: true, least: 5, most: 70},
		"one object":                       {objects: 1, each: 16, permitted: true, least: 30, most: 70},
		"no answer":                        {objects: 1, each: 16, permitted: true, err: errors.New("no answer"), least: 1, most: 2},
		"not allowed":                      {objects: 1, each: 16, least: 1, most: 1},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, lanes.New(), 5*time.Millisecond)
				n.ping = func(context.Context) (permitted bool, err error) { return test.permitted, test.err }
				until := time.Now().Add(10 * time.Second)
				visit := max(100*time.Millisecond, time.Duration(test.objects)*time.Second/2000)
				var all sync.WaitGroup
				for i := range test.objects {
					object := deploymentNamed(fmt.Sprint("web-", i))
					for j := range test.each {
						all.Go(func() {
							for time.Now().Before(until) {
								inside, leave, _ := n.set.Join(t.Context(), object, fmt.Sprint("m", j%4))
								lanes.Measure(inside, n.measures)
								time.Sleep(visit)
								leave()
							}
						})
					}
				}
				all.Wait()
				if n.probes < test.least || n.probes > test.most {
					t.Errorf("%d measurements, want %d to %d", n.probes, test.least, test.most)
				}
				time.Sleep(2 * time.Second)
				if n.set.Held() != 0 {
					t.Errorf("%d lanes are held", n.set.Held())
				}
			})
		})
	}
}

// TestRefusedIsAskedAgain, but not often, and meanwhile one writes at a time.
func TestRefusedIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, lanes.New(), 5*time.Millisecond)
		n.ping = func(context.Context) (permitted bool, err error) { return false, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		n.write = time.Second / 2
		end := n.writers(ctx, 4, 4)
		end()
		if n.probes < 2 || n.probes > 6 || n.most != 1 {
			t.Errorf("asked %d times, %d at a time", n.probes, n.most)
		}
	})
}

// TestMeasure: only beside others, one at a time, and not again for a while.
func TestMeasure(t *testing.T) {
	guestTest(t, 0, func(g *guests) {
		inside := map[string]context.Context{}
		come := func(name string) {
			g.all(name)
			if slices.Contains(g.inside, name) {
				inside[name] = g.contextOf(name) //nolint:fatcontext // each is asked about later
				synctest.Wait()
			}
		}
		ping := func(context.Context) (permitted bool, err error) { return true, nil }
		want := func(reason, name string, measured bool) {
			before := g.set.Asking()
			lanes.Measure(inside[name], ping)
			if begun := !before && g.set.Asking(); begun != measured {
				t.Errorf("%s: measured %t", reason, begun)
			}
		}
		lanes.Measure(g.t.Context(), ping)
		if g.set.Asking() {
			t.Error("outside of all lanes it is measured")
		}
		come("m1.a")
		want("nobody else is there", "m1.a", false)
		g.all("alone.a")
		want("another one waits", "m1.a", true)
		want("under way", "m1.a", false)
		time.Sleep(lanes.ProbeTimeout) // it fails, because m1 is still inside
		synctest.Wait()
		want("it failed a moment ago", "m1.a", false)
		g.leave("m1.a")
		g.want("the failure holds up nobody", "alone.a")
		inside["alone.a"] = g.contextOf("alone.a")
		g.all("m2.a", "m3.a")
		time.Sleep(time.Minute)
		want("who is alone may read and write for long", "alone.a", false)
		g.leave("alone.a")
		want("who has left", "m1.a", false)
		inside["m2.a"] = g.contextOf("m2.a")
		synctest.Wait()
		want("the failure was long ago", "m2.a", true)
		g.leave("m2.a")
		g.leave("m3.a")
		time.Sleep(2 * time.Second) // the pace is forgotten
	})
}

// TestProbeOfAnEmptyLane: it begins when the last one has left, and the lane goes when it has ended.
func TestProbeOfAnEmptyLane(t *testing.T) {
	guestTest(t, 0, func(g *guests) {
		g.all("m1.a")
		g.leave("m1.a")
		if held := g.set.Held(); held != 0 {
			t.Errorf("%d lanes are held of a writer who was the only one", held)
		}
		g.all("m1.b")
		ctx, cancel := context.WithCancel(g.t.Context())
		g.come(ctx, "m2.a")
		quiet, answer := false, make(chan struct{})
		g.told["m1.b"] <- func(inside context.Context) {
			lanes.Measure(inside, func(context.Context) (permitted bool, err error) {
				quiet = true
				<-answer
				return true, nil
			})
		}
		synctest.Wait()
		cancel()
		g.leave("m2.a")
		if quiet {
			t.Error("one is inside")
		}
		g.leave("m1.b")
		if held := g.set.Held(); held != 1 || !quiet {
			t.Errorf("%d lanes are held, quiet: %t", held, quiet)
		}
		close(answer)
		synctest.Wait()
		if held := g.set.Held(); held != 0 {
			t.Errorf("%d lanes are held after the measurement", held)
		}
	})
}

// TestWhatIsNoGap between two writes that the server does one after the other: who gives up, who was alone, a lane in which
// nobody was, and a measurement.
func TestWhatIsNoGap(t *testing.T) {
	const gap = 4 * time.Millisecond
	guestTest(t, 0, func(g *guests) {
		leave := func(reason, name string) {
			time.Sleep(gap)
			g.leave(name)
			if got := g.set.Gap(g.object); got != gap {
				t.Errorf("%s: the gap is %v", reason, got)
			}
		}
		g.all("m1.a", "m2.a", "m3.a")
		ctx, cancel := context.WithCancel(g.t.Context())
		g.come(ctx, "m4.a")
		g.all("alone.a", "m5.a", "m6.a", "m7.a")
		g.leave("m1.a")
		leave("the first gap", "m2.a")
		cancel()
		g.leave("m4.a")
		leave("who waited has given up", "m3.a")
		time.Sleep(time.Second / 4)
		g.leave("alone.a")
		leave("one was alone", "m5.a")
		leave("as before", "m6.a")
		g.leave("m7.a")
		time.Sleep(time.Second / 4)
		g.all("m1.b", "m2.b", "m3.b", "m4.b")
		leave("nobody was inside", "m1.b")
		g.told["m2.b"] <- func(inside context.Context) {
			lanes.Measure(inside, func(context.Context) (permitted bool, err error) {
				time.Sleep(time.Second / 4)
				return true, nil
			})
		}
		leave("a measurement is to begin", "m2.b")
		time.Sleep(time.Second / 4)
		synctest.Wait()
		leave("nobody was let in", "m3.b")
		g.leave("m4.b")
		time.Sleep(2 * time.Second) // the pace is forgotten
	})
}
