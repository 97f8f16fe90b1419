package apply

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

const setFinalizer = "example.com/set"

// parentGoes has the parent be deleted, held by the finalizer of its set.
func (w *pruneWorld) parentGoes() {
	w.Helper()
	parent := w.parent.DeepCopyObject().(client.Object)
	w.must(w.Patch(w.Context(), parent, client.RawPatch("application/merge-patch+json",
		[]byte(`{"metadata":{"finalizers":["`+setFinalizer+`"]}}`))))
	w.must(w.Delete(w.Context(), parent))
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
}

// A parent that goes takes its members along, wherever they are, and waits for them.
func TestDeleteOfASet(t *testing.T) {
	t.Parallel()
	for name, parent := range map[string]func(*pruneWorld){
		"namespaced parent": func(*pruneWorld) {},
		"cluster-scoped parent": func(w *pruneWorld) {
			w.parent = &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
			w.must(w.Create(w.Context(), w.parent))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPruneWorld(t)
			parent(w)
			emitted := []string{"ConfigMap a", "Secret other/a", "ServiceAccount held", "ClusterRole a", "ConfigMap other/adopted"}
			w.stands(w.process(&pruneRequests{}), emitted...)
			forged := corev1ac.ConfigMap("forged", w.other).WithLabels(map[string]string{applyset.PartOfLabel: w.labelOf("ConfigMap a")})
			w.must(w.Apply(t.Context(), forged, client.FieldOwner("forger")))
			w.merge("ServiceAccount held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
			w.merge("ConfigMap other/adopted", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`)
			sets := w.process(&pruneRequests{})
			if _, done, err := sets.Delete(t.Context(), w.parent); done || !errors.Is(err, applyset.ErrNotPruned) {
				t.Errorf("of a parent that stays: done %t, %v; want ErrNotPruned", done, err)
			}
			if live := w.live(); len(live) != len(emitted)+1 {
				t.Errorf("live %v; want nothing deleted while the parent stays", live)
			}
			w.parentGoes()
			defer w.mergeInto(w.parent, `{"metadata":{"finalizers":null}}`)
			notOurs := []string{"ConfigMap other/adopted", "ConfigMap other/forged"}
			for n, step := range []struct {
				deleted, left []string
				done          bool
			}{
				{[]string{"ClusterRole a", "ConfigMap a", "Secret other/a", "ServiceAccount held"}, []string{"ServiceAccount held"}, false},
				{nil, []string{"ServiceAccount held"}, false},
				{nil, nil, true},
				{nil, nil, true},
			} {
				if n == 2 {
					w.merge("ServiceAccount held", `{"metadata":{"finalizers":null}}`)
				}
				pruned, done, err := sets.Delete(t.Context(), w.parent)
				w.must(err)
				got := []any{w.deleted(pruned), w.deleted(applyset.Pruned{Deleted: pruned.Left}), len(pruned.Kept), w.live(), done}
				live := append(slices.Clone(notOurs), step.left...)
				if diff := cmp.Diff([]any{step.deleted, step.left, len(notOurs), live, step.done}, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("call %d: deleted, left, kept, live, done (-want +got):\n%s", n, diff)
				}
			}
		})
	}
}

func (w *pruneWorld) mergeInto(object client.Object, patch string) {
	w.Helper()
	w.must(w.Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// A process dies at each request of a round and then of the deletion: the next one
// leaves nothing over.
func TestDeleteOfASetAfterACrash(t *testing.T) {
	t.Parallel()
	for name, answerLost := range map[string]bool{"not sent": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			died := true
			for n := 0; died; n++ {
				died = false // of a test that ends early
				t.Run(fmt.Sprintf("request %d", n), func(t *testing.T) {
					w := newPruneWorld(t)
					w.stands(w.process(&pruneRequests{}), "ConfigMap a", "Secret other/b")
					w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
					requests := &pruneRequests{}
					sets := w.process(requests)
					dead := requests.dieAt(n, answerLost)
					w.dyingRound(sets)
					w.parentGoes()
					_, done, err := sets.Delete(t.Context(), w.parent)
					if died = dead(); !died {
						w.must(err)
					}
					if died && done && len(w.live()) > 0 {
						t.Errorf("it says that all is gone, and %v are left", w.live())
					}
					_, done, err = w.process(&pruneRequests{}).Delete(t.Context(), w.parent)
					if err != nil || !done || len(w.live()) > 0 {
						t.Errorf("the next process: done %t, %v, live %v; want nothing left over", done, err, w.live())
					}
					w.mergeInto(w.parent, `{"metadata":{"finalizers":null}}`)
				})
				if !died && n < 12 {
					t.Errorf("%d requests: too few for what is tested", n)
				}
			}
		})
	}
}

// dyingRound drops a kind and begins others, as far as its process gets.
func (w *pruneWorld) dyingRound(sets *applyset.Sets) {
	round := sets.Apply(w.Context(), w.parent, w.emit("Secret other/b", "ServiceAccount other/c", "ClusterRole d"))
	if len(round.Errs) == 0 {
		_, _ = round.Prune(w.Context())
	}
}

// What has the name of a parent that is gone is another one, with members of the same
// label.
func TestDeleteOfASetWhoseParentIsAnother(t *testing.T) {
	w := newPruneWorld(t)
	sets := w.process(&pruneRequests{})
	w.stands(sets, "ConfigMap a", "Secret other/a")
	before := w.parent.DeepCopyObject().(client.Object)
	before.SetDeletionTimestamp(new(metav1.Now()))
	w.must(w.Delete(t.Context(), w.parent))
	w.parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "parent"}}
	w.must(w.Create(t.Context(), w.parent))
	w.stands(sets, "ConfigMap a", "Secret other/a")
	if _, done, err := sets.Delete(t.Context(), before); done || !errors.Is(err, apply.ErrUIDMismatch) || len(w.live()) != 2 {
		t.Errorf("done %t, %v, live %v; want ErrUIDMismatch and nothing deleted", done, err, w.live())
	}
}

// A reconciler with Prune: its parent is deleted, and goes when the members in all
// namespaces are gone.
func TestReconcilerDeletesWithTheParent(t *testing.T) {
	w := newPruneWorld(t)
	updater, err := update.New(update.Config{Client: w, LiveReader: w, FieldManager: pruner})
	w.must(err)
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: w, Applier: kit.NewApplier(t, w, pruner, apply.Policy{}), Updater: updater, Prune: true, Finalizer: setFinalizer,
		Emit: func(*corev1.ConfigMap) ([]apply.Intent, error) {
			intents, err := w.emit("ConfigMap a", "Secret other/held", "ClusterRole a")()
			return intents, err
		},
	})
	w.must(err)
	reconcileAgain := func() reconcile.Result {
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.parent)})
		w.must(err)
		return result
	}
	reconcileAgain() // the finalizer
	reconcileAgain()
	if live := w.live(); len(live) != 3 {
		t.Fatalf("live %v", live)
	}
	w.merge("Secret other/held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.must(w.Delete(t.Context(), w.parent))
	if result := reconcileAgain(); result.RequeueAfter == 0 || !slices.Equal(w.live(), []string{"Secret other/held"}) {
		t.Errorf("%+v, live %v; want the parent to wait for what has a finalizer", result, w.live())
	}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
	w.merge("Secret other/held", `{"metadata":{"finalizers":null}}`)
	reconcileAgain()
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent); !apierrors.IsNotFound(err) || len(w.live()) > 0 {
		t.Errorf("%v, live %v; want all of it gone", err, w.live())
	}
}
