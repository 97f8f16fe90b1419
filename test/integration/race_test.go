package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// Each race has one ConfigMap whose key "a" another manager owns. We set "a",
// which the policy forces, and "b", which it rejects; at a random moment a
// contester sets "b" unforced. Whoever is first owns "b" and the other one must
// fail: when both succeed, b was stolen.

const (
	pinnedRaces   = 1000
	unpinnedRaces = 200
)

func TestForceStealsNothing(t *testing.T) {
	races := runRaces(t, pinnedRaces, func(ctx context.Context, c client.Client, namespace, name string) error {
		applier, err := apply.New(c, apply.Config{
			FieldManager: "us",
			Policy:       apply.OnConflict(apply.Reject).At(".data.a", apply.Force),
			LiveReader:   c,
		})
		if err != nil {
			return err
		}
		_, err = applier.Apply(ctx, apply.Intent{Config: ours(namespace, name)})
		return err
	})
	t.Logf("%d races: %v", pinnedRaces, races)
	if races.steals != 0 {
		t.Errorf("%d unintended steals in %d races", races.steals, pinnedRaces)
	}
	if races.weFirst == 0 || races.theyFirst == 0 {
		t.Errorf("%v: one side always won, so nothing raced", races)
	}
}

// TestUnpinnedForceSteals shows that the races are real: the plain way, apply,
// look at the conflicts, apply with force, takes what it never looked at.
func TestUnpinnedForceSteals(t *testing.T) {
	races := runRaces(t, unpinnedRaces, func(ctx context.Context, c client.Client, namespace, name string) error {
		err := c.Apply(ctx, ours(namespace, name), client.FieldOwner("us"))
		if !apply.IsOwnershipConflict(err) || mentions(err, ".data.b") {
			return err
		}
		return c.Apply(ctx, ours(namespace, name), client.FieldOwner("us"), client.ForceOwnership)
	})
	t.Logf("%d races: %v", unpinnedRaces, races)
	if races.steals == 0 {
		t.Errorf("%v: the unpinned variant stole nothing, so the races prove nothing", races)
	}
}

func ours(namespace, name string) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"a": "ours", "b": "ours"})
}

type raceCount struct{ steals, weFirst, theyFirst int }

func (r raceCount) String() string {
	return fmt.Sprintf("%d steals, we first %d, they first %d", r.steals, r.weFirst, r.theyFirst)
}

// runRaces runs them two at a time, and spreads the contester's moment over what
// our own calls take.
func runRaces(t *testing.T, races int, us func(ctx context.Context, c client.Client, namespace, name string) error) raceCount {
	t.Helper()
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	var (
		mu    sync.Mutex
		count raceCount
		next  = make(chan int)
		lanes sync.WaitGroup
	)
	for range 2 {
		lanes.Go(func() {
			took := 10 * time.Millisecond
			for i := range next {
				duration, weErr, theyErr := race(t.Context(), c, namespace, fmt.Sprintf("race-%d", i), took, us)
				took = (took + duration) / 2
				mu.Lock()
				switch {
				case weErr == nil && theyErr == nil:
					count.steals++
				case weErr == nil && apply.IsOwnershipConflict(theyErr):
					count.weFirst++
				case theyErr == nil && (errors.Is(weErr, apply.ErrConflict) || apply.IsOwnershipConflict(weErr)):
					count.theyFirst++
				default:
					t.Errorf("race %d: we: %v, they: %v", i, weErr, theyErr)
				}
				mu.Unlock()
			}
		})
	}
	for i := range races {
		next <- i
	}
	close(next)
	lanes.Wait()
	return count
}

func race(ctx context.Context, c client.Client, namespace, name string, within time.Duration, us func(context.Context, client.Client, string, string) error) (took time.Duration, weErr, theyErr error) {
	before := corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"a": "theirs"})
	if err := c.Apply(ctx, before, client.FieldOwner("owner")); err != nil {
		return 0, err, err
	}
	var contest sync.WaitGroup
	contest.Go(func() {
		time.Sleep(rand.N(within + 1))
		theyErr = c.Apply(ctx, corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"b": "theirs"}), client.FieldOwner("contester"))
	})
	start := time.Now()
	weErr = us(ctx, c, namespace, name)
	took = time.Since(start)
	contest.Wait()
	return took, weErr, theyErr
}
