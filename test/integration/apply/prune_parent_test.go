package apply

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// plainParents are of kinds that the server counts no generation of.
var plainParents = map[string]func(*pruneWorld) client.Object{
	"ConfigMap": func(w *pruneWorld) client.Object { return w.parent },
	"Secret": func(w *pruneWorld) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "parent"}}
	},
	"Namespace": func(w *pruneWorld) client.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-parent"}}
	},
	"Node": func(w *pruneWorld) client.Object {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.namespace + "-parent"}}
	},
}

// changed is a write of somebody else to the parent, which the world's own copy of it
// does not show.
func (w *pruneWorld) changed() {
	w.Helper()
	parent := w.parent.DeepCopyObject().(client.Object)
	wants := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/wants":"b"}}}`))
	w.must(w.Patch(w.Context(), parent, wants))
}

// A parent without a generation is changed, and a round that does not know of it emits
// less: whatever the moment, nothing is deleted until a round knows. That the round
// writes to the parent itself is no change.
func TestPruneHoldsParentsWithoutAGeneration(t *testing.T) {
	t.Parallel()
	announcing := []string{"ConfigMap a", "ServiceAccount c"}
	for name, test := range map[string]struct {
		emitted []string // instead of ConfigMap a and b
		before  bool     // the round
		during  func(w *pruneWorld, request *http.Request) bool
		after   bool // the applies
		kept    bool // what is emitted no longer
	}{
		"nobody":                          {emitted: []string{"ConfigMap a"}},
		"nobody but the round":            {emitted: announcing},
		"before the round":                {emitted: []string{"ConfigMap a"}, before: true, kept: true},
		"before a round that writes":      {emitted: announcing, before: true, kept: true},
		"before the prune":                {emitted: []string{"ConfigMap a"}, after: true, kept: true},
		"after the round's write":         {emitted: announcing, after: true, kept: true},
		"a moment before the round's own": {emitted: announcing, during: (*pruneWorld).isToParent, kept: true},
	} {
		for kind, parent := range plainParents {
			t.Run(name+", "+kind, func(t *testing.T) {
				w := newPruneWorld(t)
				if w.parent = parent(w); w.parent.GetUID() == "" {
					w.must(w.Create(t.Context(), w.parent))
					t.Cleanup(func() { _ = w.Delete(context.Background(), w.parent) })
				}
				requests := &pruneRequests{}
				sets := w.process(requests)
				w.stands(sets, "ConfigMap a", "ConfigMap b")
				w.must(w.Get(t.Context(), client.ObjectKeyFromObject(w.parent), w.parent))
				if test.before {
					w.changed()
				}
				requests.before = func(request *http.Request) error {
					if test.during != nil && test.during(w, request) {
						requests.before = nil
						w.changed()
					}
					return nil
				}
				round := sets.Apply(t.Context(), w.parent, w.emit(test.emitted...))
				w.must(errors.Join(round.Errs...))
				if requests.before = nil; test.after {
					w.changed()
				}
				pruned, err := round.Prune(t.Context())
				got, deleted := w.deleted(pruned), []string{"ConfigMap b"}
				if test.kept && (!errors.Is(err, apply.ErrRetryable) || len(got) > 0 || !slices.Contains(w.live(), "ConfigMap b")) {
					t.Errorf("%v, deleted %v, live %v; want ErrRetryable and nothing deleted", err, got, w.live())
				}
				if !test.kept && (err != nil || !slices.Equal(got, deleted)) {
					t.Errorf("%v, deleted %v; want %v", err, got, deleted)
				}
				w.stands(sets, test.emitted...)
				if live := w.live(); !slices.Equal(live, test.emitted) {
					t.Errorf("live %v; want a round that knows to have pruned all but %v", live, test.emitted)
				}
			})
		}
	}
}

func (w *pruneWorld) isToParent(request *http.Request) bool {
	return request.Method == http.MethodPatch && strings.HasSuffix(request.URL.Path, "/"+w.parent.GetName())
}

// A member changes between the list and the delete: it is judged as it is by then.
func TestPruneJudgesMembersAsTheyAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		patch  string
		kept   string // the reason; "" with spared: it is no member any more
		spared bool
	}{
		"the label is taken off": {patch: `{"metadata":{"labels":null}}`, spared: true},
		"another owner":          {patch: `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u"}]}}`, spared: true, kept: "the object's owner is the Pod p, not the parent"},
		"other data":             {patch: `{"data":{"k":"v"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPruneWorld(t)
			requests := &pruneRequests{}
			sets := w.process(requests)
			w.stands(sets, "ConfigMap a", "ConfigMap b")
			requests.before = func(request *http.Request) error {
				if request.Method == http.MethodDelete {
					requests.before = nil
					w.merge("ConfigMap b", test.patch)
				}
				return nil
			}
			_, pruned, err := w.round(sets, "ConfigMap a")
			w.must(err)
			object := w.object("ConfigMap b")
			err = w.Get(t.Context(), client.ObjectKeyFromObject(object), object)
			if spared := err == nil; spared != test.spared || len(pruned.Deleted) == 1 == test.spared {
				t.Errorf("spared: %t, want %t; deleted %v", spared, test.spared, pruned.Deleted)
			}
			var kept []string
			for _, k := range pruned.Kept {
				kept = append(kept, k.Reason)
			}
			if want := slices.DeleteFunc([]string{test.kept}, func(s string) bool { return s == "" }); !slices.Equal(kept, want) {
				t.Errorf("kept %q, want %q", kept, want)
			}
		})
	}
}
