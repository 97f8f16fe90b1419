package apply

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit"
)

func (g *gone) configMap(suffix string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: g.name + suffix}}
}

func (g *gone) member(suffix string) apply.Intent {
	return apply.Intent{Config: corev1ac.ConfigMap(g.name+suffix, g.namespace).WithData(data("ours", "mine"))}
}

// read reads an object again and gives it.
func (g *gone) read(object client.Object) client.Object {
	g.Helper()
	g.must(g.c.Get(g.ctx(), client.ObjectKeyFromObject(object), object))
	return object
}

// emit is one round of a process that knows nothing yet, and its pruning.
func (g *gone) emit(ctx context.Context, parent client.Object, intents ...apply.Intent) (string, error) {
	sets, err := applyset.New(kit.NewApplier(g, g.c, "us", apply.Policy{}))
	g.must(err)
	round := sets.Apply(ctx, parent, func() ([]apply.Intent, error) { return intents, nil })
	for _, err := range round.Errs {
		return "", err
	}
	_, err = round.Prune(ctx)
	return "pruned", err
}

func (g *gone) emitted(parent client.Object, intents ...apply.Intent) {
	g.Helper()
	_, err := g.emit(g.ctx(), parent, intents...)
	g.must(err)
}

func (g *gone) exists(object client.Object) bool {
	err := g.c.Get(g.ctx(), client.ObjectKeyFromObject(object), object)
	g.must(client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

// TestGoneDuringPrune has a member that is emitted no longer go away, one that is,
// and the parent of the set.
func TestGoneDuringPrune(t *testing.T) {
	const parent, stays = "-parent", "-stays"
	// dropped prepares a round in which the member of the object's name is emitted no
	// longer.
	dropped := func(recreate func(g *gone) client.Object) func(*gone) goneCall {
		return func(g *gone) goneCall {
			set := g.created(g.configMap(parent), "them")
			g.emitted(set, g.member(""), g.member(stays))
			g.read(set)
			g.object = g.read(g.configMap(""))
			g.recreate = func() client.Object { return recreate(g) }
			return func(ctx context.Context) (string, error) { return g.emit(ctx, set, g.member(stays)) }
		}
	}
	partOf := func(g *gone) map[string]string {
		return map[string]string{applyset.PartOfLabel: g.object.GetLabels()[applyset.PartOfLabel]}
	}
	pruned := []string{"pruned"}
	runGone(t, []goneCase{{
		name: "emitted no longer, recreated with a forged label", requests: 6,
		deleted: pruned, recreated: pruned,
		prepare: dropped(func(g *gone) client.Object {
			forged := g.configMap("")
			forged.Labels = partOf(g)
			return g.created(forged, "stranger")
		}),
	}, {
		name: "emitted no longer, recreated as a member", requests: 6,
		picks:   4, // the list
		deleted: pruned, recreated: pruned,
		prepare: dropped(func(g *gone) client.Object {
			config := corev1ac.ConfigMap(g.name, g.namespace).WithLabels(partOf(g))
			return g.applied(config, &corev1.ConfigMap{}, "us")
		}),
		met: func(live client.Object, _ string) error {
			if live != nil {
				return fmt.Errorf("a member that is emitted no longer is still there: %v", live)
			}
			return nil
		},
	}, {
		name: "the parent", requests: 5,
		deleted: []string{"UIDMismatch"}, recreated: []string{"UIDMismatch"},
		prepare: func(g *gone) goneCall {
			g.recreate = func() client.Object { return g.created(g.configMap(""), "stranger") }
			g.object = g.recreate()
			g.emitted(g.object, g.member("-member"))
			g.read(g.object)
			return func(ctx context.Context) (string, error) { return g.emit(ctx, g.object) }
		},
		after: func(g *gone, nth int) error {
			const parentIsLookedAt = 3
			if there := g.exists(g.configMap("-member")); there != (nth <= parentIsLookedAt) {
				return fmt.Errorf("the member is there: %t", there)
			}
			return nil
		},
	}, {
		name: "the parent before its first member", requests: 5,
		deleted: []string{"UIDMismatch", "pruned"}, recreated: []string{"UIDMismatch", "pruned"},
		prepare: func(g *gone) goneCall {
			g.recreate = func() client.Object { return g.created(g.configMap(""), "stranger") }
			g.object = g.recreate()
			return func(ctx context.Context) (string, error) { return g.emit(ctx, g.object, g.member("-member")) }
		},
		after: func(g *gone, nth int) error {
			const announced = 2
			if there := g.exists(g.configMap("-member")); there != (nth > announced) {
				return fmt.Errorf("the member is there: %t", there)
			}
			return nil
		},
	}})
}
