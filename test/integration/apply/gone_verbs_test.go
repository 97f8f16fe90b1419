package apply

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit"
)

// refer names the object, with its uid where only that one is meant.
func (g *gone) refer(byUID bool) apply.ObjectRef {
	kind, err := g.c.GroupVersionKindFor(g.object)
	g.must(err)
	ref := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: client.ObjectKeyFromObject(g.object)}
	if byUID {
		ref.UID = g.object.GetUID()
	}
	return ref
}

// everywhere makes a Deployment of which "us" applies the object, its status and
// its scale, and makes it anew alike.
func (g *gone) everywhere() {
	g.recreate = func() client.Object {
		config := kit.Deployment(g.name, g.namespace, "v1")
		config.Spec.WithReplicas(5)
		g.applied(config, &appsv1.Deployment{}, "them")
		us := kit.NewApplier(g, g.c, "us", apply.OnConflict(apply.Force))
		for _, intent := range []apply.Intent{
			{Config: appsv1ac.Deployment(g.name, g.namespace).WithLabels(data("ours", "mine"))}, g.statusIntent(), g.scaleIntent(),
		} {
			_, err := us.Apply(g.ctx(), intent)
			g.must(err)
		}
		live := &appsv1.Deployment{ObjectMeta: g.meta()}
		g.must(g.c.Get(g.ctx(), client.ObjectKeyFromObject(live), live))
		return live
	}
	g.object = g.recreate()
}

// applyAll makes a ConfigMap that "us" applies, and makes it anew alike.
func (g *gone) applyAll(manager string) {
	g.recreate = func() client.Object { return g.applied(g.ourConfig(), &corev1.ConfigMap{}, manager) }
	g.object = g.recreate()
}

func TestGoneDuringRelease(t *testing.T) {
	var cases []goneCase
	for _, object := range []struct {
		name     string
		make     func(*gone)
		requests int
	}{
		{"one entry", func(g *gone) { g.applyAll("us") }, 2},
		{"object, status and scale", (*gone).everywhere, 4},
	} {
		for _, byUID := range []bool{false, true} {
			test := goneCase{
				name: object.name + ", by name", requests: object.requests,
				picks: 1, deleted: []string{"Absent"}, recreated: []string{"UIDMismatch"},
				prepare: func(g *gone) goneCall {
					object.make(g)
					us, ref := kit.NewApplier(g, g.c, "us", apply.Policy{}), g.refer(byUID)
					return func(ctx context.Context) (string, error) { return worded(ownership.Release(ctx, us, ref)) }
				},
			}
			if byUID {
				test.name, test.picks = object.name+", by uid", 0
				test.deleted = append(test.deleted, "UIDMismatch")
			}
			cases = append(cases, test)
		}
	}
	runGone(t, cases)
}

// moving is what an undisturbed transfer ends with.
const moving = "moved"

// transferring gives the call of a transfer, its Do and its undo's Do.
func transferring(ctx context.Context, look func(context.Context) (*ownership.Transfer, error)) (string, error) {
	transfer, err := look(ctx)
	if err != nil {
		return "", err
	}
	undo, err := transfer.Do(ctx)
	if err != nil {
		return "", err
	}
	_, err = undo.Do(ctx)
	return moving, err
}

func TestGoneDuringTransfer(t *testing.T) {
	verbs := map[string]struct {
		make func(*gone)
		look func(context.Context, *apply.Applier, apply.ObjectRef, ...ownership.From) (*ownership.Transfer, error)
	}{
		"Rename": {func(g *gone) { g.applyAll("them") }, ownership.Rename},
		"Migrate": {func(g *gone) {
			g.recreate = func() client.Object {
				return g.created(&corev1.ConfigMap{ObjectMeta: g.meta(), Data: data("theirs", contestedKeys...)}, "them")
			}
			g.object = g.recreate()
		}, ownership.Migrate},
	}
	mismatch := []string{"UIDMismatch"}
	var cases []goneCase
	for name, verb := range verbs {
		them := ownership.From{Manager: "them"}
		ofWhole := func(byUID bool) func(*gone) goneCall {
			return func(g *gone) goneCall {
				verb.make(g)
				us, ref := kit.NewApplier(g, g.c, "us", apply.Policy{}), g.refer(byUID)
				return func(ctx context.Context) (string, error) {
					return transferring(ctx, func(ctx context.Context) (*ownership.Transfer, error) { return verb.look(ctx, us, ref, them) })
				}
			}
		}
		cases = append(cases, goneCase{
			name: name + ", by name, then Do and undo", prepare: ofWhole(false), requests: 4, picks: 1,
			deleted: []string{"Refused", "UIDMismatch"}, recreated: mismatch,
		}, goneCase{
			name: name + ", by uid, then Do and undo", prepare: ofWhole(true), requests: 4,
			deleted: mismatch, recreated: mismatch,
		}, goneCase{
			name: name + " long before, overtaken by another writer", requests: 5,
			deleted: mismatch, recreated: mismatch,
			prepare: func(g *gone) goneCall {
				verb.make(g)
				us := kit.NewApplier(g, g.c, "us", apply.Policy{})
				transfer, err := verb.look(g.ctx(), us, g.refer(false), them)
				g.must(err)
				g.must(g.c.Apply(g.ctx(), corev1ac.ConfigMap(g.name, g.namespace).WithData(data("v", "other")), client.FieldOwner("other")))
				return func(ctx context.Context) (string, error) {
					return transferring(ctx, func(context.Context) (*ownership.Transfer, error) { return transfer, nil })
				}
			},
		})
	}
	runGone(t, cases)
}

// TestGoneDuringPlan: it writes nothing, whatever happens.
func TestGoneDuringPlan(t *testing.T) {
	var cases []goneCase
	for _, row := range []struct {
		name     string
		d        decisions
		requests int // of an intent that knows its object
		ends     string
	}{{"Reject", reject, 3, "Conflict"}, {"mixed", mixed, 5, "Configured"}} {
		planning := func(mean func(*gone, *apply.Intent)) func(*gone) goneCall {
			return func(g *gone) goneCall {
				g.contested()
				intent := apply.Intent{Config: g.ourConfig()}
				mean(g, &intent)
				us := kit.NewApplier(g, g.c, "us", row.d.policy())
				return func(ctx context.Context) (string, error) {
					plan, err := us.Plan(ctx, intent)
					if err == nil {
						err = plan.Refused
					}
					return string(plan.Action), err
				}
			}
		}
		cases = append(cases, goneCase{
			name: row.name + ", by name", prepare: planning(func(*gone, *apply.Intent) {}),
			requests: row.requests, undisturbed: row.ends,
			deleted: []string{"Created"}, recreated: []string{row.ends},
		}, goneCase{
			name: row.name + ", by uid", requests: row.requests, undisturbed: row.ends,
			prepare: planning(func(g *gone, intent *apply.Intent) { intent.Config = g.ourConfig().WithUID(g.object.GetUID()) }),
			deleted: []string{"UIDMismatch"}, recreated: []string{"UIDMismatch"},
		}, goneCase{
			name: row.name + ", must exist", requests: row.requests + 1, undisturbed: row.ends,
			prepare: planning(func(_ *gone, intent *apply.Intent) { intent.MustExist = true }),
			deleted: []string{"Absent"}, recreated: []string{"UIDMismatch", row.ends},
		})
	}
	runGone(t, cases)
}

// TestGoneAfterLostAnswer has what landed go away before it is tried again.
func TestGoneAfterLostAnswer(t *testing.T) {
	var cases []goneCase
	const requests = 4 // without a loss; the second one is a read, which client-go repeats
	for _, loss := range []struct{ loses, more int }{{1, 1}, {3, 3}, {requests, 3}} {
		for _, test := range meanings(fmt.Sprintf("Apply, answer %d lost", loss.loses), [3]int{requests + loss.more, requests + loss.more + 1, requests + loss.more}, mixed, nothing) {
			// For an intent that must exist the request before the others is the one that
			// finds it.
			test.loses = loss.loses + test.picks
			cases = append(cases, test)
		}
	}
	cases = append(cases, goneCase{
		name: "Release", loses: 2, requests: 3,
		picks: 1, deleted: []string{"Absent"}, recreated: []string{"UIDMismatch"},
		prepare: func(g *gone) goneCall {
			g.applyAll("us")
			us, ref := kit.NewApplier(g, g.c, "us", apply.Policy{}), g.refer(false)
			return func(ctx context.Context) (string, error) { return worded(ownership.Release(ctx, us, ref)) }
		},
	})
	runGone(t, cases)
}
