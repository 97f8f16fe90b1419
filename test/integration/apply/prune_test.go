package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

func TestPruneDropsWhatIsEmittedNoLonger(t *testing.T) {
	const twoKinds = "ConfigMap,Secret;"
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
			own := "" // a namespace is additional for a parent that has none
			if w.parent.GetNamespace() == "" {
				own = "own"
			}
			requests := &pruneRequests{}
			sets := w.process(requests)
			for _, step := range []struct {
				reason            string
				emitted, deleted  []string
				recorded, request string // request: the verbs, the intents' included
			}{
				{"nothing yet: the parent is not written to", nil, nil, ";", "GET"},
				{
					"the first: what the parent says was read, is written, each member is looked for, and all is found complete",
					[]string{"ConfigMap a", "ConfigMap b", "Secret a"},
					nil, twoKinds + own, "PATCH GET PATCH GET PATCH GET PATCH",
				},
				{
					"the same: a steady state costs no request but the intents'",
					[]string{"ConfigMap a", "ConfigMap b", "Secret a"},
					nil, twoKinds + own, "PATCH PATCH PATCH",
				},
				{
					"one of a kind less: two lists, the parent, the delete",
					[]string{"ConfigMap b", "Secret a"},
					[]string{"ConfigMap a"}, twoKinds + own, "PATCH PATCH GET GET GET DELETE",
				},
				{
					"other kinds and another namespace: everything before goes",
					[]string{"ServiceAccount a", "ServiceAccount other/a", "ClusterRole a"},
					[]string{"ConfigMap b", "Secret a"},
					"ClusterRole.rbac.authorization.k8s.io,ServiceAccount;" + join("other", own), "",
				},
				{
					"a namespace left", []string{"ServiceAccount a"},
					[]string{"ClusterRole a", "ServiceAccount other/a"}, "ServiceAccount;" + own, "",
				},
				{"nothing at all", nil, []string{"ServiceAccount a"}, ";", ""},
				{"nothing as before", nil, nil, ";", ""},
			} {
				_, pruned, err := w.round(sets, step.emitted...)
				w.must(err)
				sent := verbs(requests.take())
				if step.request != "" && sent != step.request {
					t.Errorf("%s: sent %s, want %s", step.reason, sent, step.request)
				}
				slices.Sort(step.emitted)
				got := []any{w.live(), w.deleted(pruned), pruned.Kept, w.recorded()}
				want := []any{step.emitted, step.deleted, []applyset.Kept(nil), step.recorded}
				if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("%s: live, deleted, kept, recorded (-want +got):\n%s", step.reason, diff)
				}
			}
		})
	}
}

// join leaves out what is empty.
func join(namespaces ...string) string {
	return strings.Join(slices.DeleteFunc(namespaces, func(n string) bool { return n == "" }), ",")
}

// What KEP-3659 asks for, and who owns it.
func TestPruneLabelsAndAnnotations(t *testing.T) {
	w := newPruneWorld(t)
	_, _, err := w.round(w.process(&pruneRequests{}), "ConfigMap a")
	w.must(err)
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
	id := applyset.ID(apply.ObjectRef{
		GroupVersionKind: pruneKinds["ConfigMap"], NamespacedName: client.ObjectKeyFromObject(w.parent)})
	var member corev1.ConfigMap
	w.must(w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "a"}, &member))
	got := []map[string]string{w.parent.GetLabels(), w.parent.GetAnnotations(), member.Labels}
	want := []map[string]string{
		{"applyset.kubernetes.io/id": id},
		{"applyset.kubernetes.io/tooling": pruner + "/v1", "applyset.kubernetes.io/contains-group-kinds": "ConfigMap"},
		{"applyset.kubernetes.io/part-of": id},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("parent's labels, annotations, member's labels (-want +got):\n%s", diff)
	}
	for object, owner := range map[client.Object]string{w.parent: pruner + "-applyset/Apply", &member: pruner + "/Apply"} {
		ownership, err := fieldowners.Parse(object.GetManagedFields())
		w.must(err)
		path := fieldowners.MustParsePath(`.metadata.labels["applyset.kubernetes.io/part-of"]`)
		if object == w.parent {
			path = fieldowners.MustParsePath(`.metadata.annotations["applyset.kubernetes.io/tooling"]`)
		}
		if owners := ownership.OwnersOf(path); len(owners) != 1 || owners[0].String() != owner {
			t.Errorf("%s is owned by %v, want %s", path, owners, owner)
		}
	}
}

// A partial intent on someone else's object makes no member of it.
func TestPruneLeavesObjectsOfOthers(t *testing.T) {
	w := newPruneWorld(t)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "theirs"}}
	w.must(w.Create(t.Context(), theirs))
	sets := w.process(&pruneRequests{})
	partial := corev1ac.ConfigMap("theirs", w.namespace).WithData(map[string]string{"k": "v"})
	round := sets.Apply(t.Context(), w.parent, func() ([]apply.Intent, error) {
		intents, err := w.emit("Secret a")()
		return append(intents, apply.Intent{Config: partial, MustExist: true}), err
	})
	w.must(errors.Join(round.Errs...))
	if len(partial.Labels) != 0 || round.Outcomes[1].Action != apply.Configured {
		t.Errorf("the caller's configuration has labels %v; outcome %+v", partial.Labels, round.Outcomes[1])
	}
	_, err := round.Prune(t.Context())
	w.must(err)
	_, pruned, err := w.round(sets)
	w.must(err)
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
	if got := w.deleted(pruned); !cmp.Equal(got, []string{"Secret a"}) || len(theirs.Labels) != 0 {
		t.Errorf("deleted %v; the object of others has labels %v", got, theirs.Labels)
	}
}

// A reconciler with Prune and a status, around the real server: as many ConfigMaps
// as the parent has replicas.
func TestReconcilerPrunes(t *testing.T) {
	w := newPruneWorld(t)
	parent := pruneParent(w.namespace)
	w.must(w.Create(t.Context(), parent))
	updater, err := update.New(update.Config{Client: w, LiveReader: w, FieldManager: pruner})
	w.must(err)
	var applied reconciler.Applied
	r, err := reconciler.New(reconciler.Config[*appsv1.Deployment]{
		Client: w, Applier: kit.NewApplier(t, w, pruner, apply.Policy{}), Updater: updater, Prune: true, Finalizer: "example.com/set",
		Emit: func(p *appsv1.Deployment) (intents []apply.Intent, err error) {
			for i := range *p.Spec.Replicas {
				config := corev1ac.ConfigMap(fmt.Sprint("c", i), p.Namespace)
				intents = append(intents, apply.Intent{Config: config})
			}
			return intents, nil
		},
		Status: func(_ context.Context, p *appsv1.Deployment, a reconciler.Applied) (reconciler.Report[*appsv1.Deployment], error) {
			applied = a
			return reconciler.Report[*appsv1.Deployment]{Change: func(live *appsv1.Deployment) error {
				live.Status.ObservedGeneration = p.Generation
				return nil
			}}, nil
		},
	})
	w.must(err)
	_, err = r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
	w.must(err) // the finalizer comes before all else
	for _, step := range []struct {
		replicas      int
		live, deleted []string
	}{
		{3, []string{"ConfigMap c0", "ConfigMap c1", "ConfigMap c2"}, nil},
		{1, []string{"ConfigMap c0"}, []string{"ConfigMap c1", "ConfigMap c2"}},
		{0, nil, []string{"ConfigMap c0"}},
	} {
		scale := fmt.Sprintf(`{"spec":{"replicas":%d}}`, step.replicas)
		w.must(w.Patch(t.Context(), parent, client.RawPatch("application/merge-patch+json", []byte(scale))))
		emittedFrom := parent.Generation
		_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)})
		w.must(err)
		w.must(w.Get(t.Context(), client.ObjectKeyFromObject(parent), parent))
		got := []any{w.live(), w.deleted(applied.Pruned), parent.Status.ObservedGeneration}
		if diff := cmp.Diff([]any{step.live, step.deleted, emittedFrom}, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%d replicas: live, deleted, generation in the status (-want +got):\n%s", step.replicas, diff)
		}
	}
}
