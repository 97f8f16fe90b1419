package apply

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit"
)

// twoParents has a second parent in the world of the first.
func twoParents(t *testing.T) (first, second *pruneWorld) {
	t.Helper()
	first = newPruneWorld(t)
	other := *first
	other.parent = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: first.namespace, Name: "parent-2"}}
	first.must(first.Create(t.Context(), other.parent))
	return first, &other
}

func (w *pruneWorld) setID() string {
	return applyset.ID(apply.ObjectRef{GroupVersionKind: pruneKinds["ConfigMap"], NamespacedName: client.ObjectKeyFromObject(w.parent)})
}

// refused is a round that may not have the member of another set.
func (w *pruneWorld) refused(sets *applyset.Sets, holder *pruneWorld, emitted ...string) {
	w.Helper()
	round, _, err := w.round(sets, emitted...)
	if !errors.Is(err, apply.ErrRefused) || !strings.Contains(err.Error(), holder.setID()) || !strings.Contains(err.Error(), "/shared") {
		w.Errorf("%v; want ErrRefused that names the member and the set %s", err, holder.setID())
	}
	if pruned, err := round.Prune(w.Context()); !errors.Is(err, applyset.ErrNotPruned) || len(pruned.Deleted) > 0 {
		w.Errorf("%v, %+v; want ErrNotPruned", err, pruned)
	}
	if label := w.labelOf("ConfigMap shared"); label != holder.setID() {
		w.Errorf("the member is in the set %s, want %s", label, holder.setID())
	}
}

func (w *pruneWorld) stands(sets *applyset.Sets, emitted ...string) {
	w.Helper()
	_, _, err := w.round(sets, emitted...)
	w.must(err)
}

// Two parents emit one object. Who has it keeps it, in whatever order their rounds
// come and through a restart, until it is pruned; a parent that never had it deletes
// nothing.
func TestPruneOneMemberOfTwoParents(t *testing.T) {
	first, second := twoParents(t)
	sets := first.process(&pruneRequests{})
	first.stands(sets, "ConfigMap shared")
	uid := first.uidOf("ConfigMap shared")
	for range 3 {
		second.refused(sets, first, "ConfigMap shared", "Secret b")
		first.stands(sets, "ConfigMap shared")
	}
	sets = first.process(&pruneRequests{}) // a restart, and the second comes first
	second.refused(sets, first, "ConfigMap shared", "Secret b")
	first.stands(sets, "ConfigMap shared")
	second.stands(sets, "Secret b")
	second.stands(sets)
	if got := first.uidOf("ConfigMap shared"); got != uid || !slices.Equal(first.live(), []string{"ConfigMap shared"}) {
		t.Errorf("live %v; want the member of the first parent, and nothing else", first.live())
	}
	first.stands(sets)
	second.stands(sets, "ConfigMap shared")
	first.refused(sets, second, "ConfigMap shared")
	second.stands(sets, "ConfigMap shared")
}

func (w *pruneWorld) uidOf(name string) string {
	w.Helper()
	object := w.object(name)
	w.must(w.Get(w.Context(), client.ObjectKeyFromObject(object), object))
	return string(object.GetUID())
}

// Somebody deletes the member or takes its label away: who comes next has it. The
// other one, of the same process, does not take it for its own any more.
func TestPruneAfterTheMemberWasSetFree(t *testing.T) {
	for name, free := range map[string]func(*pruneWorld){
		"deleted":       func(w *pruneWorld) { w.must(w.Delete(w.Context(), w.object("ConfigMap shared"))) },
		"label removed": func(w *pruneWorld) { w.merge("ConfigMap shared", `{"metadata":{"labels":null}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			first, second := twoParents(t)
			sets := first.process(&pruneRequests{})
			first.stands(sets, "ConfigMap shared")
			second.refused(sets, first, "ConfigMap shared")
			free(first)
			second.stands(sets, "ConfigMap shared")
			first.refused(sets, second, "ConfigMap shared")
			first.stands(sets)
			second.stands(sets, "ConfigMap shared")
			if label := second.labelOf("ConfigMap shared"); label != second.setID() {
				t.Errorf("the member is in the set %s, want %s", label, second.setID())
			}
		})
	}
}

// What cannot be read is not applied: nobody knows whose it is. What cannot be at
// all is refused by the apply itself.
func TestPruneWithoutAReadOfMembers(t *testing.T) {
	w := newPruneWorld(t)
	requests := &pruneRequests{before: func(request *http.Request) error {
		if request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/a") {
			return syscall.ECONNREFUSED
		}
		return nil
	}}
	if _, _, err := w.round(w.process(requests), "ConfigMap a"); !errors.Is(err, apply.ErrRetryable) || len(w.live()) != 0 {
		t.Errorf("%v, live %v; want ErrRetryable and nothing applied", err, w.live())
	}
	nowhere := w.object("ConfigMap a")
	nowhere.SetNamespace("")
	unknown := w.object("ConfigMap a")
	unknown.SetKind("Nothing")
	for _, object := range []*unstructured.Unstructured{nowhere, unknown} {
		intent := apply.Intent{Config: client.ApplyConfigurationFromUnstructured(object)}
		_, alone := kit.NewApplier(t, w, pruner, apply.Policy{}).Apply(t.Context(), intent)
		round := w.process(&pruneRequests{}).Apply(t.Context(), w.parent, func() ([]apply.Intent, error) { return []apply.Intent{intent}, nil })
		if err := errors.Join(round.Errs...); apply.ResultOf(err) != apply.ResultOf(alone) {
			t.Errorf("as a member: %v\nalone: %v", err, alone)
		}
	}
}
