package applyset_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// partial is a partial intent for a ConfigMap.
func partial(name string) apply.Intent {
	return apply.Intent{Config: corev1ac.ConfigMap(name, "shop").WithData(map[string]string{"k": "v"}), MustExist: true}
}

// partialWeb is a partial intent for the Deployment web.
func partialWeb() apply.Intent {
	return apply.Intent{Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithMinReadySeconds(3)), MustExist: true}
}

// newPartialWorld has objects of others for which an earlier process emitted partial intents.
func newPartialWorld(t *testing.T, emitted ...apply.Intent) *world {
	t.Helper()
	w := newWorld(t)
	w.Web()
	w.Must(w.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: named("a").ObjectMeta, Data: map[string]string{"theirs": "x"}}))
	if len(emitted) > 0 {
		w.earlierRound(emits(emitted...))
	}
	return w
}

// What partial intents set is given up when they are emitted no longer, after a restart
// too: the parent names them.
func TestPartialIntentsAreReleased(t *testing.T) {
	const read, release = "GET configmaps/a", "PATCH configmaps/a uid"
	forbidden := apierrors.NewForbidden(configMaps, "a", nil)
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil)
	one := []apply.Intent{partial("a")}
	answers := func(n int, err error) func(*world) { return func(w *world) { w.Answer(n, err) } }
	named1 := func(partials string) func(*world) {
		return func(w *world) { w.record(w.parent(), "", "", partials) }
	}
	for name, test := range map[string]struct {
		earlier        []apply.Intent
		before         func(*world)
		intents        []apply.Intent
		applied        []string // after the parent was read
		happens        func(*world)
		sent           []string // of the prune
		released, kept []string
		err            error
	}{
		"one": {earlier: one, sent: []string{reads, read, release, announces}, released: []string{"ConfigMap shop/a"}},
		"each where it was applied": {
			earlier: []apply.Intent{partialWeb(), part("web")}, sent: []string{reads, "GET", "PATCH uid", "GET", "PATCH /status uid", announces},
			released: []string{"Deployment shop/web", "Deployment shop/web"},
		},
		"another for a subresource is emitted still": {
			earlier: []apply.Intent{partialWeb(), part("web")}, intents: []apply.Intent{part("web")}, applied: []string{"PATCH /status"},
			sent: []string{reads, "GET", "PATCH uid", announces}, released: []string{"Deployment shop/web"},
		},
		"it is a member now": {
			earlier: one, intents: []apply.Intent{{Config: corev1ac.ConfigMap("a", "shop")}},
			applied: append([]string{announces}, joins("configmaps", "a")...), sent: []string{lists, announces},
		},
		"nothing of ours there": {
			earlier: one, before: func(w *world) { w.own("a", entry("others", "Update", "", `{"f:data":{"f:k":{}}}`)) },
			sent: []string{reads, read, announces},
		},
		"gone": {earlier: one, before: func(w *world) { w.remove("a") }, sent: []string{reads, read, announces}},
		"a kind that is no more": {
			before: named1(`["Widget.example.com/shop/a"]`), sent: []string{reads, announces},
		},
		"a version that is no more": {
			before: named1(`["Gadget.nowhere.example.com/shop/a"]`), sent: []string{reads, "GET gadgets/a", announces},
		},
		"it cannot be without": {
			earlier: one, happens: answers(3, invalid), sent: []string{reads, read, release},
			kept: []string{`ConfigMap shop/a is no longer desired, but was kept: ` +
				`the object would be invalid without the fields that field manager ` + manager + ` would give up; move these fields to another field manager first, with Migrate or Rename of package ownership: ` +
				`ConfigMap "a" is invalid`},
		},
		"fails": {
			earlier: one, happens: answers(2, apierrors.NewTooManyRequests("busy", 0)), sent: []string{reads, read}, err: apply.ErrRetryable,
		},
		"refused": { // which another round may do
			earlier: one, happens: answers(3, forbidden), sent: []string{reads, read, release}, err: apply.ErrRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPartialWorld(t, test.earlier...)
			if test.before != nil {
				test.before(w)
			}
			sets := w.sets(apply.Policy{})
			round := sets.Apply(t.Context(), w.parent(), emits(test.intents...))
			w.Must(errors.Join(round.Errs...))
			w.wantNext(append([]string{reads}, test.applied...)...)
			if test.happens != nil {
				test.happens(w)
			}
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || test.err == nil && err != nil {
				t.Errorf("error %v, want %v", err, test.err)
			}
			if diff := cmp.Diff([][]string{test.released, test.kept}, [][]string{strs(pruned.Released), strs(pruned.Kept)}); diff != "" {
				t.Errorf("released, kept (-want +got):\n%s", diff)
			}
			w.wantNext(test.sent...)
			if err == nil { // the same again costs nothing
				if again, err := round.Prune(t.Context()); err != nil || len(again.Released) > 0 || len(again.Kept) != len(test.kept) {
					t.Errorf("again: %+v, %v", again, err)
				}
				w.wantNext()
			}
		})
	}
}

// An object of which no version can be found for the moment is released in a later round.
func TestReleaseWithoutDiscovery(t *testing.T) {
	w := newPartialWorld(t, partial("a"))
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
	down := errors.New("discovery is down")
	w.mapper = map[string]error{"ConfigMap": down}
	if pruned, err := round.Prune(t.Context()); !errors.Is(err, down) || len(pruned.Kept) > 0 {
		t.Errorf("%+v, %v", pruned, err)
	}
	w.WantSent(reads, reads)
}

// A parent names a partial intent before the first apply, and only once, and until what it set is released.
func TestPartialIntentsAreNamedFirst(t *testing.T) {
	w := newPartialWorld(t)
	sets := w.sets(apply.Policy{})
	object := []string{"GET configmaps/a", "PATCH configmaps/a uid"}
	for n, sent := range [][]string{append([]string{reads, announces}, object...), object} {
		if _, err := sets.Apply(t.Context(), w.parent(), emits(partial("a"))).Prune(t.Context()); err != nil {
			t.Errorf("round %d: %v", n, err)
		}
		w.wantNext(sent...)
	}
	if got := w.parent().Annotations[partialsName]; got != `["ConfigMap/shop/a"]` {
		t.Errorf("named are %s", got)
	}
	if pruned, err := sets.Apply(t.Context(), w.parent(), emits()).Prune(t.Context()); err != nil || len(pruned.Released) != 1 {
		t.Errorf("emitted no longer: %+v, %v", pruned, err)
	}
	w.wantNext(append(append([]string{reads}, object...), announces)...)
	if got := w.configMap("a").Data; len(got) != 1 {
		t.Errorf("what others set is %v", got)
	}
}

// The end of the context is told once, not for each that is left.
func TestReleasesEndWithTheContext(t *testing.T) {
	w := newWorld(t)
	w.record(w.parent(), "", "", `["ConfigMap/shop/a","ConfigMap/shop/b","ConfigMap/shop/c"]`)
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
	ctx, end := context.WithCancel(t.Context())
	w.Before(3, end)
	pruned, err := round.Prune(ctx)
	failed := (*applyset.PruneError)(nil)
	if !errors.As(err, &failed) || len(failed.Errs) != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v; want the error of a, and the end of the context", pruned, err)
	}
	w.WantSent(reads, reads, "GET configmaps/a")
}

// What others wrote to the annotation gives up nothing, and does not stand.
func TestForgedPartialIntents(t *testing.T) {
	w := newPartialWorld(t, partial("a"))
	w.earlierRound(emits())
	w.change("web", func(o *metav1.ObjectMeta) {
		o.Annotations[partialsName] = `["ConfigMap/shop/a","ConfigMap/elsewhere/b"]`
	})
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
	w.Must(errors.Join(round.Errs...))
	// It is forced, at the version that was read.
	w.wantNext(reads, announces, unpinned, reads, unpinned, "PATCH configmaps/web uid resourceVersion force by "+manager+"-applyset")
	if pruned, err := round.Prune(t.Context()); err != nil || len(pruned.Released) > 0 {
		t.Errorf("%+v, %v; want nothing released", pruned, err)
	}
	w.wantNext()
}

// What we never write names nothing, and does not stand.
func TestUnreadablePartialIntents(t *testing.T) {
	for _, names := range []string{`{}`, `["a/b"]`, `["/shop/a"]`, `["ConfigMap/shop/"]`, `["ConfigMap/shop/a/part/x"]`, `["ConfigMap/shop/a",1]`} {
		w := newWorld(t)
		w.record(w.parent(), "", "", names)
		round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits())
		if pruned, err := round.Prune(t.Context()); err != nil || len(pruned.Released) > 0 {
			t.Errorf("%s: %+v, %v; want nothing released", names, pruned, err)
		}
		w.WantSent(reads, announces)
	}
}

// If the API server refuses so long an annotation, nothing is applied.
func TestTooManyPartialIntents(t *testing.T) {
	w := newWorld(t)
	var many []apply.Intent
	for i := range 8000 {
		many = append(many, partial(fmt.Sprintf("an-object-with-a-long-name-%d", i)))
	}
	round := w.sets(apply.Policy{}).Apply(t.Context(), w.parent(), emits(many...))
	if err := errors.Join(round.Errs...); !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), "metadata.annotations") || len(round.Outcomes) > 0 {
		t.Errorf("%v, %d outcomes; want ErrRefused that names the annotations", err, len(round.Outcomes))
	}
	w.WantSent(reads, announces)
}

// A parent that goes releases as well, but not itself.
func TestDeleteReleases(t *testing.T) {
	w := newPartialWorld(t, partial("a"), partial("web"))
	w.removeSlowly("web")
	pruned, done, err := w.sets(apply.Policy{}).Delete(t.Context(), w.parent())
	if err != nil || !done || len(pruned.Released) != 1 {
		t.Errorf("%+v, done %t, %v; want a released", pruned, done, err)
	}
	w.WantSent(reads, "GET configmaps/a", "PATCH configmaps/a uid")
}
