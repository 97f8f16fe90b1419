package lanes_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"coapply.dev/apply/lanes"
)

// guests come to one lane, each in a goroutine of its own, and stay until they are told to go.
type guests struct {
	t      *testing.T
	set    *lanes.Set
	object lanes.Key
	told   map[string]chan func(context.Context)

	mu     sync.Mutex // two guests may be let in at the same time
	inside []string   // in the order in which they were let in
}

func (g *guests) in(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside = append(g.inside, name)
}

func (g *guests) out(name string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside = slices.DeleteFunc(g.inside, func(n string) bool { return n == name })
}

func newGuests(t *testing.T, width int) *guests {
	t.Helper()
	return &guests{t: t, set: lanes.OfWidth(width), object: deploymentNamed("web"), told: map[string]chan func(context.Context){}}
}

// come has a guest come: "m1.a" joins for the writer m1, "alone.a" enters.
func (g *guests) come(ctx context.Context, name string) {
	told := make(chan func(context.Context))
	g.told[name] = told
	go func() {
		var inside context.Context
		var leave func()
		var err error
		if writer := name[:len(name)-2]; writer == "alone" {
			inside, leave, err = g.set.Enter(ctx, g.object)
		} else {
			inside, leave, err = g.set.Join(ctx, g.object, writer)
		}
		defer leave()
		if err != nil {
			return
		}
		g.in(name)
		for do := range told {
			do(inside)
		}
		g.out(name)
	}()
	synctest.Wait()
}

func (g *guests) all(names ...string) {
	for _, name := range names {
		g.come(g.t.Context(), name)
	}
}

func (g *guests) leave(name string) {
	close(g.told[name])
	delete(g.told, name)
	synctest.Wait()
}

// contextOf returns the context that one has inside.
func (g *guests) contextOf(name string) context.Context {
	got := make(chan context.Context, 1)
	g.told[name] <- func(inside context.Context) { got <- inside }
	return <-got
}

func (g *guests) yield(name string) {
	g.told[name] <- func(inside context.Context) {
		g.out(name)
		if err := lanes.Alone(inside); err == nil {
			g.in(name)
		}
	}
	synctest.Wait()
}

func (g *guests) want(reason string, names ...string) {
	g.t.Helper()
	if !slices.Equal(g.inside, names) {
		g.t.Errorf("%s: %v are inside, want %v", reason, g.inside, names)
	}
}

func (g *guests) end() {
	for len(g.told) > 0 {
		for _, name := range slices.Clone(g.inside) {
			g.leave(name)
		}
	}
	if n := g.set.Held(); n != 0 {
		g.t.Errorf("%d lanes are held", n)
	}
}

func guestTest(t *testing.T, width int, test func(*guests)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := newGuests(t, width)
		test(g)
		g.end()
	})
}

func TestJointWritesUpToTheWidth(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("m1.a", "m2.a", "m3.a", "m4.a", "m5.a")
		g.want("a lane of width 3", "m1.a", "m2.a", "m3.a")
		g.leave("m2.a")
		g.want("the first who waits is next", "m1.a", "m3.a", "m4.a")
		g.leave("m1.a")
		g.want("and then the second", "m3.a", "m4.a", "m5.a")
	})
}

// The writes of one field manager stay in order, and hold up nobody else's.
func TestOneWriterHasOneWriteInside(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("m1.a", "m1.b", "m1.c", "m2.a")
		g.want("others pass who waits for itself", "m1.a", "m2.a")
		g.leave("m2.a")
		g.want("nobody else is there", "m1.a")
		g.leave("m1.a")
		g.want("the order of one writer", "m1.b")
		g.all("m2.b", "m3.a", "m4.a")
		g.want("the width is full", "m1.b", "m2.b", "m3.a")
		g.leave("m1.b")
		g.want("who came first is let in before who came last", "m2.b", "m3.a", "m1.c")
	})
}

func TestWhoIsAloneLetsNobodyPass(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("m1.a", "m2.a", "alone.a", "m3.a", "alone.b")
		g.want("one who is alone waits for all, and nobody passes him", "m1.a", "m2.a")
		g.leave("m1.a")
		g.want("not all have left", "m2.a")
		g.leave("m2.a")
		g.want("alone", "alone.a")
		g.leave("alone.a")
		g.want("who came next", "m3.a")
		g.all("m4.a")
		g.want("the second one lets nobody pass either", "m3.a")
	})
}

func TestWhoYieldsIsNextAlone(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("m1.a", "m2.a", "m3.a", "m4.a", "alone.a")
		g.yield("m2.a")
		g.want("he has left, and nobody comes in before he is alone", "m1.a", "m3.a")
		g.yield("m1.a")
		g.want("a second one does it", "m3.a")
		g.leave("m3.a")
		g.want("the first who yielded", "m2.a")
		g.yield("m2.a")
		g.want("he is alone already", "m2.a")
		g.leave("m2.a")
		g.want("the second", "m1.a")
		g.leave("m1.a")
		g.want("who waited before", "m4.a")
	})
}

// One who is the only one inside stays where he is.
func TestYieldingToNobody(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("m1.a")
		g.yield("m1.a")
		g.all("m2.a")
		g.want("alone", "m1.a")
	})
}

func TestGivingUpWhileYielding(t *testing.T) {
	guestTest(t, 2, func(g *guests) {
		ctx, cancel := context.WithCancel(g.t.Context())
		g.come(ctx, "m1.a")
		g.all("m2.a", "m3.a")
		g.yield("m1.a")
		g.want("nobody passes", "m2.a")
		cancel()
		synctest.Wait()
		g.want("he gave up: the others go on", "m2.a", "m3.a")
		g.leave("m1.a") // leaving again frees nobody else's
		g.want("still", "m2.a", "m3.a")
	})
}

func TestJoiningFromInside(t *testing.T) {
	type key struct{}
	set, object := lanes.OfWidth(3), deploymentNamed("web")
	inside, leave, err := set.Join(context.WithValue(t.Context(), key{}, "a"), object, "m1")
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	if inside.Value(key{}) != "a" {
		t.Error("inside lacks what the context had")
	}
	if _, _, err := set.Join(inside, object, "m2"); !errors.Is(err, lanes.ErrReentry) {
		t.Errorf("joined from inside: %v", err)
	}
	if _, _, err := set.Enter(inside, object); !errors.Is(err, lanes.ErrReentry) {
		t.Errorf("entered from inside: %v", err)
	}
}

func TestHandingOn(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		got := map[string]any{}
		take := func(name string) {
			g.told[name] <- func(inside context.Context) { got[name] = lanes.Handed(inside) }
			synctest.Wait()
		}
		hand := func(name string) {
			g.told[name] <- func(inside context.Context) { lanes.HandOn(inside, "by "+name) }
			synctest.Wait()
		}
		g.all("alone.a", "alone.b", "alone.c", "m1.a", "alone.d")
		hand("alone.a")
		g.leave("alone.a")
		take("alone.b")
		take("alone.b")
		if got["alone.b"] != nil {
			t.Error("handed twice")
		}
		g.leave("alone.b") // takes it with him
		take("alone.c")
		hand("alone.c")
		g.leave("alone.c")
		take("m1.a")
		hand("m1.a")
		g.leave("m1.a")
		take("alone.d")
		hand("alone.d")
		g.leave("alone.d")
		g.all("alone.e")
		take("alone.e")
		for _, name := range []string{"alone.c", "m1.a", "alone.d", "alone.e"} {
			if got[name] != nil {
				t.Errorf("%s got %v: not from the one who was alone just before", name, got[name])
			}
		}
		g.all("alone.f", "alone.g")
		hand("alone.e")
		g.leave("alone.e")
		g.leave("alone.f") // does not look at it, and may have written
		take("alone.g")
		if got["alone.g"] != nil {
			t.Errorf("alone.g got %v through somebody else", got["alone.g"])
		}
		g.all("alone.h")
		hand("alone.g")
		g.leave("alone.g")
		take("alone.h")
		if got["alone.h"] != "by alone.g" {
			t.Errorf("alone.h got %v", got["alone.h"])
		}
	})
}
