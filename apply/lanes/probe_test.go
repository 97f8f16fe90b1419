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
		end           func(*lanes.Probe)
		least, most   int // in ten seconds
	}{
		"nobody else writes to the object": {objects: 10_000, each: 1, end: (*lanes.Probe).Answered},
		"many objects of two writers":      {objects: 1000, each: 2, end: (*lanes.Probe).Answered, least: 5, most: 70},
		"one object":                       {objects: 1, each: 16, end: (*lanes.Probe).Answered, least: 30, most: 70},
		"no answer":                        {objects: 1, each: 16, end: (*lanes.Probe).Failed, least: 1, most: 2},
		"not allowed":                      {objects: 1, each: 16, end: func(p *lanes.Probe) { p.Refused() }, least: 1, most: 1},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newNetwork(t, lanes.New(), 5*time.Millisecond)
				n.probe = func(p *lanes.Probe) {
					if p.Quiet(t.Context()) == nil {
						test.end(p)
					}
				}
				until := time.Now().Add(10 * time.Second)
				visit := max(100*time.Millisecond, time.Duration(test.objects)*time.Second/2000)
				var all sync.WaitGroup
				for i := range test.objects {
					object := deploymentNamed(fmt.Sprint("web-", i))
					for j := range test.each {
						all.Go(func() {
							for time.Now().Before(until) {
								inside, leave, _ := n.set.Join(t.Context(), object, fmt.Sprint("m", j%4))
								if p := lanes.Measure(inside); p != nil {
									n.count(&n.probes, 1)
									all.Go(func() { n.probe(p) })
								}
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

// TestRefusedIsToldOnce, so that it is logged once.
func TestRefusedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork(t, lanes.New(), 5*time.Millisecond)
		told := 0
		n.probe = func(p *lanes.Probe) {
			if p.Refused() {
				told++
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		n.write = time.Second
		end := n.writers(ctx, 4, 4)
		end()
		if told != 1 || n.probes < 2 || n.probes > 6 || n.most != 1 {
			t.Errorf("told %d times, asked %d times, %d at a time", told, n.probes, n.most)
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
		want := func(reason, name string, measured bool) (p *lanes.Probe) {
			if p = lanes.Measure(inside[name]); (p != nil) != measured {
				t.Errorf("%s: measured %t", reason, p != nil)
			}
			return p
		}
		if lanes.Measure(g.t.Context()) != nil {
			t.Error("outside of all lanes it is measured")
		}
		come("m1.a")
		want("nobody else is there", "m1.a", false)
		g.all("alone.a")
		p := want("another one waits", "m1.a", true)
		want("under way", "m1.a", false)
		ended, cancel := context.WithCancel(g.t.Context())
		cancel()
		if err := p.Quiet(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("it waited for the others although its context had ended: %v", err)
		}
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
		want("the failure was long ago", "m2.a", true).Failed()
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
		var p *lanes.Probe
		g.told["m1.b"] <- func(inside context.Context) { p = lanes.Measure(inside) }
		synctest.Wait()
		quiet := false
		go func() { quiet = p.Quiet(g.t.Context()) == nil }()
		cancel()
		g.leave("m2.a")
		if quiet {
			t.Error("one is inside")
		}
		g.leave("m1.b")
		if held := g.set.Held(); held != 1 || !quiet {
			t.Errorf("%d lanes are held, quiet: %t", held, quiet)
		}
		p.Failed()
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
		var p *lanes.Probe
		g.told["m2.b"] <- func(inside context.Context) { p = lanes.Measure(inside) }
		leave("a measurement is to begin", "m2.b")
		time.Sleep(time.Second / 4)
		p.Failed()
		synctest.Wait()
		leave("nobody was let in", "m3.b")
		g.leave("m4.b")
		time.Sleep(2 * time.Second) // the pace is forgotten
	})
}
