package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit"
)

// A label alone deletes nothing.
func TestPruneKeepsWhatIsNotItsOwn(t *testing.T) {
	w := newPruneWorld(t)
	sets := w.process(&pruneRequests{})
	_, _, err := w.round(sets, "ConfigMap a", "ConfigMap held", "ConfigMap adopted")
	w.must(err)
	id := w.labelOf("ConfigMap a")

	forged := corev1ac.ConfigMap("forged", w.namespace).WithLabels(map[string]string{applyset.PartOfLabel: id})
	w.must(w.Apply(t.Context(), forged, client.FieldOwner("forger")))
	copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.namespace, Name: "copied", Labels: map[string]string{applyset.PartOfLabel: id}}}
	w.must(w.Create(t.Context(), copied, client.FieldOwner(pruner)))
	w.merge("ConfigMap held", `{"metadata":{"finalizers":["example.com/hold"]}}`)
	w.must(w.Delete(t.Context(), w.object("ConfigMap held")))
	w.merge("ConfigMap adopted", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`)

	for _, process := range []*applyset.Sets{sets, sets, w.process(&pruneRequests{})} {
		_, pruned, err := w.round(process, "Secret a")
		w.must(err)
		var kept []string
		for _, k := range pruned.Kept {
			kept = append(kept, k.Object.Name+": "+k.Reason)
		}
		want := []string{
			"adopted: the object's owner is the Pod p, not the parent",
			"copied: the field manager " + pruner + " does not own the object's label " + applyset.PartOfLabel,
			"forged: the field manager " + pruner + " does not own the object's label " + applyset.PartOfLabel,
			"held: the object is already being deleted",
		}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("kept, the same in each round (-want +got):\n%s", diff)
		}
		live := []string{"ConfigMap adopted", "ConfigMap copied", "ConfigMap forged", "ConfigMap held", "Secret a"}
		if diff := cmp.Diff(live, w.live()); diff != "" {
			t.Errorf("live (-want +got):\n%s", diff)
		}
		if got := w.recorded(); got != "ConfigMap,Secret;" {
			t.Errorf("recorded %s: what was kept is to stay in sight", got)
		}
	}
	w.merge("ConfigMap held", `{"metadata":{"finalizers":null}}`)
}

func (w *pruneWorld) labelOf(name string) string {
	w.Helper()
	object := w.object(name)
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	return object.GetLabels()[applyset.PartOfLabel]
}

func (w *pruneWorld) merge(name, patch string) {
	w.Helper()
	w.must(w.Patch(w.Context(), w.object(name), client.RawPatch("application/merge-patch+json", []byte(patch))))
}

// An object that was recreated between the list and the delete is another one.
func TestPruneLeavesRecreatedObjects(t *testing.T) {
	w := newPruneWorld(t)
	requests := &pruneRequests{}
	sets := w.process(requests)
	_, _, err := w.round(sets, "ConfigMap a", "ConfigMap gone", "ConfigMap kept")
	w.must(err)
	requests.before = func(request *http.Request) error {
		if request.Method != http.MethodDelete {
			return nil
		}
		requests.before = nil
		w.must(w.Delete(t.Context(), w.object("ConfigMap gone")))
		w.must(w.Delete(t.Context(), w.object("ConfigMap a")))
		return w.Create(t.Context(), w.object("ConfigMap a"))
	}
	_, pruned, err := w.round(sets, "ConfigMap kept")
	w.must(err)
	if len(pruned.Deleted) != 0 || len(pruned.Kept) != 1 || !strings.Contains(pruned.Kept[0].String(), "recreated") {
		t.Errorf("pruned %+v; want nothing deleted and the recreated object reported", pruned)
	}
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.object("ConfigMap a")), w.object("ConfigMap a")))
	_, pruned, err = w.round(sets, "ConfigMap kept")
	if w.must(err); len(pruned.Deleted)+len(pruned.Kept) != 0 {
		t.Errorf("the recreated object has no label and is still %+v", pruned)
	}
}

func TestPruneNothingAfterAFailure(t *testing.T) {
	w := newPruneWorld(t)
	sets := w.process(&pruneRequests{})
	_, _, err := w.round(sets, "ConfigMap a", "Secret a")
	w.must(err)
	theirs := corev1ac.ConfigMap("b", w.namespace).WithLabels(map[string]string{applyset.PartOfLabel: "theirs"})
	w.must(w.Apply(t.Context(), theirs, client.FieldOwner("other")))

	round, _, err := w.round(sets, "ConfigMap b", "ServiceAccount a")
	if !errors.Is(err, apply.ErrRefused) || len(round.Outcomes) != 2 || round.Outcomes[1].Action != apply.Created {
		t.Errorf("%v, %+v; want membership to be refused, and the other intent applied", err, round.Outcomes)
	}
	if pruned, err := round.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) || len(pruned.Deleted) != 0 {
		t.Errorf("%v, %+v; want ErrNotPruned", err, pruned)
	}
	failed := sets.Apply(t.Context(), w.parent, func() ([]apply.Intent, error) { return nil, errors.New("cannot know") })
	if pruned, err := failed.Prune(t.Context()); !errors.Is(err, applyset.ErrNotPruned) || len(pruned.Deleted) != 0 || len(failed.Errs) != 1 {
		t.Errorf("after a failed emit: %v, %+v", err, pruned)
	}
	want := []string{"ConfigMap a", "ConfigMap b", "Secret a", "ServiceAccount a"}
	if diff := cmp.Diff(want, w.live()); diff != "" {
		t.Errorf("live (-want +got):\n%s", diff)
	}
	_, pruned, err := w.round(sets, "ConfigMap a", "Secret a")
	w.must(err)
	if got := w.deleted(pruned); !slices.Equal(got, []string{"ServiceAccount a"}) {
		t.Errorf("deleted %v; want what the failed round applied", got)
	}
}

// Nothing is deleted for a parent that is not the one that was emitted from.
func TestPruneHoldsTheParent(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*pruneWorld)
		err    error
	}{
		"another generation": {func(w *pruneWorld) {
			w.must(w.Patch(w.Context(), w.parent.DeepCopyObject().(client.Object),
				client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))))
		}, apply.ErrRetryable},
		"being deleted": {func(w *pruneWorld) {
			parent := w.parent.DeepCopyObject().(client.Object)
			w.must(w.Patch(w.Context(), parent, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":["example.com/hold"]}}`))))
			w.must(w.Delete(w.Context(), parent))
		}, apply.ErrRetryable},
		"deleted": {func(w *pruneWorld) { w.must(w.Delete(w.Context(), w.parent)) }, apply.ErrUIDMismatch},
		"recreated": {func(w *pruneWorld) {
			w.must(w.Delete(w.Context(), w.parent))
			w.must(w.Create(w.Context(), pruneParent(w.namespace)))
		}, apply.ErrUIDMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPruneWorld(t)
			w.parent = pruneParent(w.namespace)
			w.must(w.Create(t.Context(), w.parent))
			sets := w.process(&pruneRequests{})
			_, _, err := w.round(sets, "ConfigMap a", "Secret a")
			w.must(err)
			w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
			round := sets.Apply(t.Context(), w.parent, w.emit("Secret a"))
			w.must(errors.Join(round.Errs...))
			test.change(w)
			pruned, err := round.Prune(t.Context())
			if !errors.Is(err, test.err) || len(pruned.Deleted) != 0 || len(w.live()) != 2 {
				t.Errorf("%v, %+v, live %v; want %v and nothing deleted", err, pruned, w.live(), test.err)
			}
			t.Log(err)
		})
	}
}

func pruneParent(namespace string) *appsv1.Deployment {
	parent := kit.WebDeployment(1)
	parent.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: "parent"}
	return parent
}

// Another tool's set, or one that was copied along with its parent, is left alone.
func TestPruneLeavesSetsOfOthers(t *testing.T) {
	for says, metadata := range map[string]metav1.ObjectMeta{
		`belongs to the tooling "kubectl/v1.27"`: {Annotations: map[string]string{"applyset.kubernetes.io/tooling": "kubectl/v1.27"}},
		"is the id of another object's set":      {Labels: map[string]string{"applyset.kubernetes.io/id": "applyset-copied-v1"}},
	} {
		w := newPruneWorld(t)
		w.parent.SetLabels(metadata.Labels)
		w.parent.SetAnnotations(metadata.Annotations)
		w.must(w.Update(t.Context(), w.parent))
		requests := &pruneRequests{}
		round, _, err := w.round(w.process(requests), "ConfigMap a")
		if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), says) || len(round.Outcomes) != 0 {
			t.Errorf("%v; want ErrRefused that says %q", err, says)
		}
		if sent := verbs(requests.take()); sent != "GET" || len(w.live()) != 0 {
			t.Errorf("sent %s, live %v; want nothing touched", sent, w.live())
		}
	}
}

// What may not be listed is named, and the rest is pruned.
func TestPruneNamesTheMissingRight(t *testing.T) {
	w := newPruneWorld(t)
	_, _, err := w.round(w.process(&pruneRequests{}), "ConfigMap a", "Secret a")
	w.must(err)
	all := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"patch"}},
	}
	w.must(w.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "limited"}, Rules: all}))
	w.must(w.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "limited"},
		RoleRef:    rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "limited"},
		Subjects:   []rbacv1.Subject{{Kind: "User", Name: "limited"}},
	}))
	config := rest.CopyConfig(kit.Server(t))
	config.Impersonate.UserName, config.Impersonate.Groups = "limited", []string{"system:authenticated"}
	sets := w.setsOf(kit.NewApplier(t, kit.NewClient(t, config), pruner, apply.Policy{}))
	var pruned applyset.Pruned
	kit.WaitFor(t, "the rights to be known", func() string {
		if _, pruned, err = w.round(sets); len(pruned.Deleted) == 0 {
			return "nothing deleted"
		}
		return ""
	})
	if !errors.Is(err, apply.ErrRefused) || !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `cannot list resource "secrets"`) {
		t.Errorf("%v; want it to name the missing right", err)
	}
	if got := w.live(); !slices.Equal(got, []string{"Secret a"}) || w.recorded() != "ConfigMap,Secret;" {
		t.Errorf("live %v, recorded %s; want the Secret to be left and nothing forgotten", got, w.recorded())
	}
}
