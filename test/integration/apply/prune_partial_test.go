package apply

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// theirs makes a ConfigMap of others in either namespace.
func (w *pruneWorld) theirs(namespace, name string) {
	w.Helper()
	config := corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"theirs": "yes", "shared": "both"})
	w.must(w.Apply(w.Context(), config, client.FieldOwner("them")))
}

func partialIntent(namespace, name string) apply.Intent {
	config := corev1ac.ConfigMap(name, namespace).WithData(map[string]string{"ours": "yes", "shared": "both"})
	return apply.Intent{Config: config, MustExist: true}
}

// emitIntents is a round of intents as they are, with its prune.
func (w *pruneWorld) emitIntents(sets *applyset.Sets, intents ...apply.Intent) (applyset.Pruned, error) {
	w.Helper()
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
	round := sets.Apply(w.Context(), w.parent, func() ([]apply.Intent, error) { return intents, nil })
	if err := errors.Join(round.Errs...); err != nil {
		return applyset.Pruned{}, err
	}
	return round.Prune(w.Context())
}

// dataOf gives the keys of a ConfigMap and its owners; nil for one that is gone.
func (w *pruneWorld) dataOf(namespace, name string) (keys, owners []string) {
	w.Helper()
	var object corev1.ConfigMap
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
		w.must(client.IgnoreNotFound(err))
		return nil, nil
	}
	for key := range object.Data {
		keys = append(keys, key)
	}
	for _, entry := range object.ManagedFields {
		owners = append(owners, entry.Manager)
	}
	slices.Sort(keys)
	slices.Sort(owners)
	return keys, owners
}

func (w *pruneWorld) holdsData(reason, namespace, name string, ours bool) {
	w.Helper()
	keys, owners := w.dataOf(namespace, name)
	wantKeys, wantOwners := []string{"shared", "theirs"}, []string{"them"}
	if ours {
		wantKeys, wantOwners = []string{"ours", "shared", "theirs"}, []string{pruner, "them"}
	}
	if diff := cmp.Diff([][]string{wantKeys, wantOwners}, [][]string{keys, owners}); diff != "" {
		w.Errorf("%s: %s: keys, owners (-want +got):\n%s", reason, name, diff)
	}
}

// A partial intent is emitted no longer: our fields go, also after a restart, and the
// others' stay.
func TestPruneReleasesPartialIntents(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"same process": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			w := newPruneWorld(t)
			w.theirs(w.namespace, "a")
			w.theirs(w.other, "b")
			requests := &pruneRequests{}
			sets := w.process(requests)
			both := []apply.Intent{partialIntent(w.namespace, "a"), partialIntent(w.other, "b")}
			_, err := w.emitIntents(sets, both...)
			w.must(err)
			w.holdsData("emitted", w.namespace, "a", true)
			w.holdsData("emitted", w.other, "b", true)
			if requests.take(); restart {
				sets = w.process(requests)
				_, err = w.emitIntents(sets, both...)
				w.must(err)
				requests.take()
			}
			_, err = w.emitIntents(sets, both...)
			w.must(err)
			if sent := verbs(requests.take()); sent != "GET PATCH GET PATCH" { // each is looked for in what is no cache
				t.Errorf("a steady state sent %s; want the intents' requests only", sent)
			}
			for _, step := range []struct {
				emitted  []apply.Intent
				a, b     bool
				released int
			}{{both[:1], true, false, 1}, {both[:1], true, false, 0}, {nil, false, false, 1}, {both[1:], false, true, 0}, {nil, false, false, 1}} {
				if restart {
					sets = w.process(requests)
				}
				pruned, err := w.emitIntents(sets, step.emitted...)
				w.must(err)
				if len(pruned.Released) != step.released || len(pruned.Deleted)+len(pruned.Kept) != 0 {
					t.Errorf("%+v; want %d released", pruned, step.released)
				}
				w.holdsData("in turn", w.namespace, "a", step.a)
				w.holdsData("in turn", w.other, "b", step.b)
			}
			if got := w.parent.GetAnnotations()["coapply.dev/partial-intents"]; strings.Contains(got, "/a") {
				t.Errorf("the parent still names %s", got)
			}
		})
	}
}

// A process dies at each request of a round that drops one partial intent and begins
// another. The next one leaves nothing of ours.
func TestPruneReleasesPartialIntentsAfterACrash(t *testing.T) {
	t.Parallel()
	for name, answerLost := range map[string]bool{"not sent": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			died := true
			for n := 0; died; n++ {
				died = false // of a test that ends early
				t.Run(fmt.Sprintf("request %d", n), func(t *testing.T) {
					w := newPruneWorld(t)
					w.theirs(w.namespace, "a")
					w.theirs(w.other, "b")
					_, err := w.emitIntents(w.process(&pruneRequests{}), partialIntent(w.namespace, "a"))
					w.must(err)
					requests := &pruneRequests{}
					sets := w.process(requests)
					dead := requests.dieAt(n, answerLost)
					_, err = w.emitIntents(sets, partialIntent(w.other, "b"))
					if died = dead(); !died {
						w.must(err)
					}
					_, err = w.emitIntents(w.process(&pruneRequests{}))
					w.must(err)
					w.holdsData("the next process", w.namespace, "a", false)
					w.holdsData("the next process", w.other, "b", false)
				})
				if !died && n < 7 {
					t.Errorf("%d requests: too few for what is tested", n)
				}
			}
		})
	}
}

// What is done about a partial intent that is emitted no longer, by what became of its
// object and of what else is emitted for it.
func TestPruneReleasesWhatIsLeft(t *testing.T) {
	t.Parallel()
	t.Run("gone", func(t *testing.T) {
		w, sets := partialWorld(t)
		w.must(w.Delete(t.Context(), w.object("ConfigMap a")))
		pruned, err := w.emitIntents(sets)
		if w.must(err); len(pruned.Released) != 0 {
			t.Errorf("%+v; want nothing released", pruned)
		}
		if keys, _ := w.dataOf(w.namespace, "a"); keys != nil {
			t.Errorf("it was brought back with %v", keys)
		}
	})
	t.Run("recreated by others", func(t *testing.T) {
		w, sets := partialWorld(t)
		w.must(w.Delete(t.Context(), w.object("ConfigMap a")))
		w.theirs(w.namespace, "a")
		pruned, err := w.emitIntents(sets)
		if w.must(err); len(pruned.Released) != 0 {
			t.Errorf("%+v; want nothing released", pruned)
		}
		w.holdsData("recreated", w.namespace, "a", false)
	})
	t.Run("a member now", func(t *testing.T) {
		w, sets := partialWorld(t)
		member := partialIntent(w.namespace, "a")
		member.MustExist = false
		for range 2 {
			pruned, err := w.emitIntents(sets, member)
			if w.must(err); len(pruned.Released) != 0 {
				t.Errorf("%+v; want nothing released", pruned)
			}
			w.holdsData("a member", w.namespace, "a", true)
		}
	})
	t.Run("a stale parent", func(t *testing.T) {
		w, sets := partialWorld(t)
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
		w.changed()
		round := sets.Apply(t.Context(), w.parent, func() ([]apply.Intent, error) { return nil, nil })
		w.must(errors.Join(round.Errs...))
		if pruned, err := round.Prune(t.Context()); !errors.Is(err, apply.ErrRetryable) || len(pruned.Released) != 0 {
			t.Errorf("%+v, %v; want ErrRetryable", pruned, err)
		}
		w.holdsData("a stale parent", w.namespace, "a", true)
	})
	t.Run("the parent goes", func(t *testing.T) {
		w, _ := partialWorld(t)
		w.parentGoes()
		defer w.mergeInto(w.parent, `{"metadata":{"finalizers":null}}`)
		for n := range 2 {
			pruned, done, err := w.process(&pruneRequests{}).Delete(t.Context(), w.parent)
			if w.must(err); !done || len(pruned.Released) != 1-n {
				t.Errorf("call %d: done %t, %+v", n, done, pruned)
			}
			w.holdsData("the parent goes", w.namespace, "a", false)
		}
	})
	t.Run("named by others", func(t *testing.T) {
		w, sets := partialWorld(t)
		other := newPruneWorld(t)
		forged := `{"metadata":{"annotations":{"coapply.dev/partial-intents":"[\"ConfigMap/` + w.namespace + `/a\"]"}}}`
		other.must(other.Patch(t.Context(), other.parent, client.RawPatch("application/merge-patch+json", []byte(forged)), client.FieldOwner("forger")))
		for range 2 {
			pruned, err := other.emitIntents(sets)
			if other.must(err); len(pruned.Released) != 0 {
				t.Errorf("%+v; want nothing released", pruned)
			}
		}
		w.holdsData("named by another parent", w.namespace, "a", true)
		if got := other.parent.GetAnnotations()["coapply.dev/partial-intents"]; got != "[]" {
			t.Errorf("the parent names %s", got)
		}
	})
}

// partialWorld has a partial intent applied.
func partialWorld(t *testing.T) (*pruneWorld, *applyset.Sets) {
	t.Helper()
	w := newPruneWorld(t)
	w.theirs(w.namespace, "a")
	sets := w.process(&pruneRequests{})
	_, err := w.emitIntents(sets, partialIntent(w.namespace, "a"))
	w.must(err)
	w.holdsData("emitted", w.namespace, "a", true)
	return w, sets
}

// An object and one of its subresources are released each on its own.
func TestPruneReleasesSubresourcesApart(t *testing.T) {
	t.Parallel()
	w := newPruneWorld(t)
	web := pruneParent(w.namespace)
	web.Name = "web"
	w.must(w.Create(t.Context(), web, client.FieldOwner("them")))
	requests := &pruneRequests{}
	sets := w.process(requests)
	name := appsv1ac.Deployment("web", w.namespace)
	scale := apply.Intent{
		Config: appsv1ac.Deployment("web", w.namespace), Subresource: "scale",
		Body: autoscalingv1ac.Scale().WithName("web").WithNamespace(w.namespace).WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(1)),
	}
	paused := apply.Intent{Config: name.WithSpec(appsv1ac.DeploymentSpec().WithPaused(true)), MustExist: true}
	for _, step := range []struct {
		emitted []apply.Intent
		want    []string // our entries
		paused  bool
	}{
		{[]apply.Intent{paused, scale}, []string{"", "scale"}, true},
		{[]apply.Intent{paused}, []string{""}, true},
		{[]apply.Intent{paused, scale}, []string{"", "scale"}, true},
		{[]apply.Intent{scale}, []string{"scale"}, false},
		{nil, nil, false},
	} {
		_, err := w.emitIntents(sets, step.emitted...)
		w.must(err)
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(web), web))
		var ours []string
		for _, entry := range web.ManagedFields {
			if entry.Manager == pruner && entry.Operation == metav1.ManagedFieldsOperationApply {
				ours = append(ours, entry.Subresource)
			}
		}
		slices.Sort(ours)
		got := []any{ours, web.Spec.Paused, *web.Spec.Replicas}
		if diff := cmp.Diff([]any{step.want, step.paused, int32(1)}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("our entries, paused, replicas (-want +got):\n%s\nafter %v", diff, requests.take())
		}
	}
	for _, request := range requests.take() {
		if method, _, _ := strings.Cut(request, " "); method == http.MethodDelete {
			t.Errorf("%s: a partial intent deletes nothing", request)
		}
	}
}
