package apply

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
	"coapply.dev/test/kit/model"
)

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
	dice            model.Dice
	beside          bool // contesters write while a request of ours is under way, and not before it is sent
}

func newArena(t *testing.T, c client.Client, namespace, name string, us ourRaceCall) *arena {
	t.Helper()
	return &arena{
		T: t, c: c, namespace: namespace, name: name, keys: []string{"force", "reject", "yield", "share"}, apply: us,
		history: &history{versions: map[int64]version{}},
	}
}

const arenas = 8 // half of them with contesters beside us, and half of these with a cache

// runRaces runs the arenas at the same time, each on an object of its own.
func runRaces(t *testing.T, races int) (inTurn, beside raceCount) {
	t.Helper()
	config := rest.CopyConfig(kit.Server(t))
	config.Wrap(record)
	c := kit.NewClient(t, config)
	namespace, seed := kit.NewNamespace(t, c), kit.Seed(t)
	var all [arenas]*arena
	var atOnce sync.WaitGroup
	for i := range all {
		dice := model.NewDice(seed, uint64(i))
		var cache client.Reader
		if i%4 > 1 {
			cache = &laggingCache{Reader: kit.NewClient(t, kit.Server(t)), dice: dice}
		}
		a := newArena(t, c, namespace, fmt.Sprintf("arena-%d", i), pinnedCall(t, c, cache)) // an applier remembers
		a.dice, a.beside = dice, i%2 == 1
		all[i] = a
		atOnce.Go(func() {
			ctx := context.WithValue(t.Context(), historyKey{}, a.history)
			for range races / arenas {
				a.race(ctx)
			}
			a.settleDown(ctx)
		})
	}
	atOnce.Wait()
	for _, a := range all {
		a.count.late = a.history.late
		if a.beside {
			beside.add(a.count)
		} else {
			inTurn.add(a.count)
		}
	}
	return inTurn, beside
}

// laggingCache has the object as it is, or as it was read before.
type laggingCache struct {
	client.Reader

	dice   model.Dice
	former *corev1.ConfigMap
}

func (l *laggingCache) Get(ctx context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	read, ok := object.(*corev1.ConfigMap)
	if ok && l.former != nil && l.dice.Chance(0.5) {
		l.former.DeepCopyInto(read)
		return nil
	}
	err := l.Reader.Get(context.WithoutCancel(ctx), key, object)
	if ok && err == nil {
		l.former = read.DeepCopy()
	}
	return err
}

// contest is a write of a contester, before or beside a request of ours.
type contest struct {
	at    int // the number of the request
	write func(context.Context) error
}

// race is one call of ours against up to three writes of contesters.
func (a *arena) race(ctx context.Context) {
	intent := map[string]string{"force": "ours"}
	for _, key := range a.keys {
		if a.dice.IntN(4) > 0 {
			intent[key] = "ours"
		}
	}
	var contests []contest
	for range 1 + a.dice.IntN(3) {
		contests = append(contests, contest{1 + a.dice.IntN(4), a.contest()})
	}
	var under sync.WaitGroup
	requests := 0
	begin := func(due func(contest) bool) {
		for _, c := range contests {
			switch {
			case !due(c):
			case a.beside:
				under.Go(func() { a.endured(c.write(ctx)) })
			default:
				a.endured(c.write(ctx))
			}
		}
	}
	call := a.call(ctx, intent, func(*http.Request) {
		requests++
		begin(func(c contest) bool { return c.at == requests })
	})
	begin(func(c contest) bool { return c.at > requests }) // our call ended early
	under.Wait()
	a.judge(call)
}

func (a *arena) endured(err error) {
	if err != nil && !apply.IsOwnershipConflict(err) {
		a.Errorf("a contester: %v", err)
	}
}

func (a *arena) call(ctx context.Context, intent map[string]string, before func(*http.Request)) *ourCall {
	call := &ourCall{intent: intent, judged: map[string]bool{}, conceded: map[string]bool{}, before: before}
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
	call := a.call(ctx, data("ours", a.keys...), nil)
	if call.err != nil || len(call.conceded) > 0 || len(call.judged) > 0 {
		a.Errorf("alone: %v, gave way in %v, took %v", call.err, call.conceded, call.judged)
	}
	a.judge(call)
}

// contest is one write of a contester. A key of the contester's own makes every
// one a change.
func (a *arena) contest() func(context.Context) error {
	key, value := model.Pick(a.dice, a.keys), fmt.Sprintf("theirs-%d", a.dice.Int64())
	who := model.Pick(a.dice, []string{"contester", "rival"})
	config := corev1ac.ConfigMap(a.name, a.namespace)
	wants, letsGo := config.WithData(map[string]string{who: value}), a.dice.IntN(6) == 0
	if !letsGo {
		wants.Data[key] = value
	}
	switch a.dice.IntN(3) {
	case 0:
		return func(ctx context.Context) error { return a.c.Apply(ctx, wants, client.FieldOwner(who)) }
	case 1:
		return func(ctx context.Context) error {
			return a.c.Apply(ctx, wants, client.FieldOwner(who), client.ForceOwnership)
		}
	}
	patch := fmt.Sprintf(`{"data":{"editor":%q,%q:%q}}`, value, key, value)
	if letsGo {
		patch = fmt.Sprintf(`{"data":{"editor":%q,%q:null}}`, value, key)
	}
	return func(ctx context.Context) error { return a.edit(ctx, patch) }
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
