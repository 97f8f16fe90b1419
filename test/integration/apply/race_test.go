package apply

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// In each race we apply keys of a ConfigMap while contesters apply, force, update
// and delete the same keys at random moments. The history of the object then says
// what each write of ours took from whom: nothing but fields that are to be forced,
// from owners that were judged.

const (
	ours           = "us/Apply"
	racesByDefault = 400
	unpinnedRaces  = 200
	racesAtOnce    = 8 // each on an object of its own
)

// racePolicy is what we do about a contested key.
var racePolicy = map[string]apply.Decision{
	"force": apply.Force, "reject": apply.Reject, "yield": apply.Relinquish, "share": apply.Share,
}

// ourRaceCall applies the intent of a call and fills in what it judged.
type ourRaceCall func(ctx context.Context, namespace, name string, call *ourCall) error

// TestForceStealsNothing runs as many races as COAPPLY_RACES says.
func TestForceStealsNothing(t *testing.T) {
	races := kit.Races(t, racesByDefault)
	policy := apply.OnConflict(apply.Reject)
	for key, decision := range racePolicy {
		policy = policy.At(".data."+key, decision)
	}
	count := runRaces(t, races, []string{"force", "reject", "yield", "share"}, func(c client.Client) ourRaceCall {
		applier := kit.NewApplier(t, c, "us", policy) // one an object: it remembers
		return func(ctx context.Context, namespace, name string, call *ourCall) error {
			outcome, err := applier.Apply(ctx, apply.Intent{Config: ourKeys(namespace, name, call)})
			for _, conflict := range outcome.Conflicts {
				key := strings.TrimPrefix(conflict.Path.String(), ".data.")
				if conflict.Decision == apply.Force {
					call.judged[key+" "+conflict.Manager.String()] = true
				} else {
					call.conceded[key] = true
				}
			}
			call.at, _ = strconv.ParseInt(outcome.Object.ResourceVersion, 10, 64)
			return err
		}
	})
	t.Logf("%d races: %v", races, count)
	if count.steals != 0 {
		t.Errorf("%d unintended steals in %d races", count.steals, races)
	}
	if count.forced == 0 || count.rejected == 0 || count.late == 0 {
		t.Errorf("%v: nothing raced", count)
	}
}

// TestUnpinnedForceSteals shows that the races are real: the plain way, apply,
// look at the conflicts, apply with force, takes what it never looked at.
func TestUnpinnedForceSteals(t *testing.T) {
	count := runRaces(t, unpinnedRaces, []string{"force", "reject"}, func(c client.Client) ourRaceCall {
		return func(ctx context.Context, namespace, name string, call *ourCall) error {
			err := c.Apply(ctx, ourKeys(namespace, name, call), client.FieldOwner("us"))
			if !apply.IsOwnershipConflict(err) || mentions(err, ".data.reject") {
				return err
			}
			for _, owner := range []string{"contester/Apply", "rival/Apply", "editor/Update"} { // say that all of them were judged
				call.judged["force "+owner] = true
			}
			return c.Apply(ctx, ourKeys(namespace, name, call), client.FieldOwner("us"), client.ForceOwnership)
		}
	})
	t.Logf("%d races: %v", unpinnedRaces, count)
	if count.steals == 0 {
		t.Errorf("%v: the unpinned variant stole nothing, so the races prove nothing", count)
	}
}

func ourKeys(namespace, name string, call *ourCall) *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap(name, namespace).WithData(call.intent)
}

// raceCount counts races by how they ended, and what happened in them.
type raceCount struct{ landed, forced, rejected, contended, partly, late, steals int }

func (r raceCount) String() string {
	return fmt.Sprintf("%d landed (%d by force), %d rejected, %d contended; %d failed after a part had landed; %d forced applies came too late; %d steals",
		r.landed, r.forced, r.rejected, r.contended, r.partly, r.late, r.steals)
}

func (r *raceCount) add(other raceCount) {
	r.landed += other.landed
	r.forced += other.forced
	r.rejected += other.rejected
	r.contended += other.contended
	r.partly += other.partly
	r.late += other.late
	r.steals += other.steals
}

// arena is an object on which one race after the other takes place.
type arena struct {
	*testing.T

	c               client.Client
	namespace, name string
	keys            []string
	apply           ourRaceCall
	history         *history
	count           raceCount
	took            time.Duration // what a call of ours takes, about
}

func runRaces(t *testing.T, races int, keys []string, us func(client.Client) ourRaceCall) raceCount {
	t.Helper()
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(record)
	c := kit.NewClient(t, config)
	namespace := kit.NewNamespace(t, c)
	var (
		arenas []*arena
		atOnce sync.WaitGroup
		next   = make(chan int)
	)
	for i := range racesAtOnce {
		a := &arena{
			T: t, c: c, namespace: namespace, name: fmt.Sprintf("arena-%d", i), keys: keys, apply: us(c),
			history: &history{versions: map[int64]version{}}, took: 10 * time.Millisecond,
		}
		arenas = append(arenas, a)
		atOnce.Go(func() {
			for range next {
				a.race(context.WithValue(t.Context(), historyKey{}, a.history))
			}
		})
	}
	for i := range races {
		next <- i
	}
	close(next)
	atOnce.Wait()
	var sum raceCount
	for _, a := range arenas {
		a.settleDown(context.WithValue(t.Context(), historyKey{}, a.history))
		a.count.late = a.history.late
		sum.add(a.count)
	}
	return sum
}

// race is one call of ours against up to three writes of contesters.
func (a *arena) race(ctx context.Context) {
	intent := map[string]string{"force": "ours"}
	for _, key := range a.keys {
		if rand.N(4) > 0 {
			intent[key] = "ours"
		}
	}
	var contest sync.WaitGroup
	for range 1 + rand.N(3) {
		contest.Go(func() {
			time.Sleep(rand.N(a.took + 1))
			if err := a.contest(ctx); err != nil && !apply.IsOwnershipConflict(err) {
				a.Errorf("a contester: %v", err)
			}
		})
	}
	start := time.Now()
	call := a.call(ctx, intent)
	took := time.Since(start)
	contest.Wait()
	a.took = (3*a.took + took) / 4
	a.judge(call)
}

func (a *arena) call(ctx context.Context, intent map[string]string) *ourCall {
	call := &ourCall{intent: intent, judged: map[string]bool{}, conceded: map[string]bool{}}
	call.err = a.apply(context.WithValue(ctx, ourCallKey{}, call), a.namespace, a.name, call)
	return call
}

// settleDown has everybody let go: our next call gets every field, also those in
// which it gave way before.
func (a *arena) settleDown(ctx context.Context) {
	for _, who := range []string{"contester", "rival"} {
		if err := a.c.Apply(ctx, corev1ac.ConfigMap(a.name, a.namespace), client.FieldOwner(who)); err != nil {
			a.Error(err)
		}
	}
	if err := a.edit(ctx, `{"data":null}`); err != nil {
		a.Error(err)
	}
	call := a.call(ctx, data("ours", a.keys...))
	if call.err != nil || len(call.conceded) > 0 || len(call.judged) > 0 {
		a.Errorf("alone: %v, gave way in %v, took %v", call.err, call.conceded, call.judged)
	}
	a.judge(call)
}

// contest is one write of a contester. A key of the contester's own makes every
// one a change.
func (a *arena) contest(ctx context.Context) error {
	key := a.keys[rand.N(len(a.keys))]
	value := fmt.Sprintf("theirs-%d", rand.Int64())
	who := []string{"contester", "rival"}[rand.N(2)]
	config := corev1ac.ConfigMap(a.name, a.namespace)
	wants, letsGo := config.WithData(map[string]string{who: value}), rand.N(6) == 0
	if !letsGo {
		wants.Data[key] = value
	}
	switch rand.N(3) {
	case 0:
		return a.c.Apply(ctx, wants, client.FieldOwner(who))
	case 1:
		return a.c.Apply(ctx, wants, client.FieldOwner(who), client.ForceOwnership)
	}
	if letsGo {
		return a.edit(ctx, fmt.Sprintf(`{"data":{"editor":%q,%q:null}}`, value, key))
	}
	return a.edit(ctx, fmt.Sprintf(`{"data":{"editor":%q,%q:%q}}`, value, key, value))
}

func (a *arena) edit(ctx context.Context, patch string) error {
	object := &unstructured.Unstructured{} // its answers are JSON, which record reads
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	object.SetNamespace(a.namespace)
	object.SetName(a.name)
	err := a.c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner("editor"))
	return client.IgnoreNotFound(err) // nobody has applied it yet
}

// judge counts the race and checks it.
func (a *arena) judge(call *ourCall) {
	versions := a.history.sorted()
	for i, v := range versions {
		if i > 0 && v.call != nil {
			for _, stolen := range steals(versions[i-1], v) {
				a.count.steals++
				a.Logf("stolen: %s", stolen)
			}
		}
		if v.call == call && call.err != nil {
			a.count.partly++ // an intent that began with what was left of it before
		}
		if call.err == nil && call.at == v.number {
			for _, wrong := range broken(call, v) {
				a.Errorf("landed, but %s", wrong)
			}
		}
	}
	switch {
	case call.err == nil:
		a.count.landed++
		a.count.forced += min(len(call.judged), 1)
	case errors.Is(call.err, apply.ErrConflict) || apply.IsOwnershipConflict(call.err):
		a.count.rejected++
	case errors.Is(call.err, apply.ErrContended):
		a.count.contended++
	default:
		a.Errorf("we: %v", call.err)
	}
}
