package lanes_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
)

// TestLaneKeepsItsRules has many come, yield, panic and give up at any moment.
func TestLaneKeepsItsRules(t *testing.T) {
	const width, writers, each = 3, 5, 400
	set, object := lanes.OfWidth(width), deploymentNamed("web")
	var mu sync.Mutex
	inside, alone, last := map[int]bool{}, false, [writers]int{}
	note := func(writer, number int, isAlone, came bool) {
		mu.Lock()
		defer mu.Unlock()
		if !came {
			delete(inside, writer)
			alone = alone && !isAlone
			return
		}
		if alone || inside[writer] || isAlone && len(inside) > 0 || len(inside) >= width {
			t.Errorf("%d (alone: %t) came to %v (alone: %t)", writer, isAlone, inside, alone)
		}
		if number < last[writer] {
			t.Errorf("%d of writer %d came after %d", number, writer, last[writer])
		}
		inside[writer], alone, last[writer] = true, isAlone, number
	}
	visit := func(ctx context.Context, writer, number int, random *rand.Rand) {
		defer func() { _ = recover() }()
		join := random.IntN(4) > 0
		var in context.Context
		var leave func()
		var err error
		if join {
			in, leave, err = set.Join(ctx, object, fmt.Sprint(writer))
		} else {
			in, leave, err = set.Enter(ctx, object)
		}
		defer leave()
		if err != nil {
			return
		}
		note(writer, number, !join, true)
		if join && random.IntN(4) == 0 {
			note(writer, number, false, false)
			if lanes.Alone(in) != nil {
				return
			}
			note(writer, number, true, true)
			join = false
		}
		defer note(writer, number, !join, false)
		if random.IntN(10) == 0 {
			panic("inside")
		}
	}
	var all sync.WaitGroup
	for writer := range writers {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(writer)))
			for number := range each {
				ctx, cancel := context.WithCancel(t.Context())
				if random.IntN(3) == 0 {
					go cancel()
				}
				visit(ctx, writer, number, random)
				cancel()
			}
		})
	}
	all.Wait()
	if n := set.Held(); n != 0 {
		t.Errorf("%d lanes are held", n)
	}
	for writer, number := range last {
		if number < each/2 {
			t.Errorf("writer %d came to %d of %d", writer, number, each)
		}
	}
}

func TestKeyNamesTheObject(t *testing.T) {
	for want, key := range map[string]lanes.Key{
		"Deployment default/web": deploymentNamed("web"),
		"Node n1":                {GroupKind: schema.GroupKind{Kind: "Node"}, NamespacedName: types.NamespacedName{Name: "n1"}},
		"":                       {},
	} {
		if got := key.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestOutsideOfALane: who is in no lane, or has left it, has nothing to give up, and nothing is handed to it.
func TestOutsideOfALane(t *testing.T) {
	guestTest(t, 3, func(g *guests) {
		g.all("alone.a", "alone.b")
		g.told["alone.a"] <- func(inside context.Context) { lanes.HandOn(inside, "a") }
		g.leave("alone.a")
		left := g.contextOf("alone.b")
		g.leave("alone.b")
		g.all("m1.a", "m2.a")
		for reason, ctx := range map[string]context.Context{"never inside": g.t.Context(), "has left": left} {
			lanes.HandOn(ctx, "b")
			lanes.Overtaken(ctx)
			if err := lanes.Alone(ctx); err != nil {
				t.Errorf("%s: %v", reason, err)
			}
			if handed := lanes.Handed(ctx); handed != nil {
				t.Errorf("%s: %v was handed on", reason, handed)
			}
		}
		g.want("as if nothing had been asked", "m1.a", "m2.a")
		g.told["m1.a"] <- func(inside context.Context) {
			lanes.Measure(inside, func(context.Context) (permitted bool, err error) {
				t.Error("a width that is fixed needs no round trip")
				return true, nil
			})
		}
	})
}
