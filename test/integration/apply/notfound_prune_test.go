package apply

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	admission "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

// TestNotFoundWhilePruning: a member whose delete was answered with a 404 stays a member, and so
// do the fields of a partial intent whose release was.
func TestNotFoundWhilePruning(t *testing.T) {
	w := newPruneWorld(t)
	webhook := kit.NewWebhook(t, w, w.namespace)
	sets := w.process(&pruneRequests{})
	if _, _, err := w.round(sets, "ConfigMap a", "ConfigMap b"); err != nil {
		t.Fatal(err)
	}
	webhook.Answer(func(request *admission.AdmissionRequest) *metav1.Status {
		if request.Operation == admission.Delete {
			return kit.NotFoundOf("another")(request)
		}
		return nil
	})
	_, pruned, err := w.round(sets, "ConfigMap a")
	wantRefused(t, "prune", err, "references.example.com", "exists")
	if live := w.live(); len(pruned.Deleted) > 0 || !slices.Contains(live, "ConfigMap b") {
		t.Errorf("deleted %v, and there are %v", pruned.Deleted, live)
	}
	webhook.Answer(nil)
	if _, pruned, err = w.round(w.process(&pruneRequests{}), "ConfigMap a"); err != nil || len(pruned.Deleted) != 1 {
		t.Errorf("the next round deleted %v: %v", pruned.Deleted, err)
	}
}

func TestNotFoundWhileReleasing(t *testing.T) {
	w := newPruneWorld(t)
	webhook := kit.NewWebhook(t, w, w.other)
	w.theirs(w.other, "a")
	sets := w.process(&pruneRequests{})
	if _, err := w.emitIntents(sets, partialIntent(w.other, "a")); err != nil {
		t.Fatal(err)
	}
	webhook.Answer(kit.NotFoundOf("another"))
	_, err := w.emitIntents(sets)
	wantRefused(t, "release", err, "references.example.com", "exists")
	webhook.Answer(nil)
	if _, err := w.emitIntents(sets); err != nil {
		t.Error(err)
	}
	w.holdsData("the next round", w.other, "a", false)
}

// TestNotFoundWhileDeletingMembers: a parent that is being deleted keeps its finalizer as long as
// the delete of a member is answered with a 404.
func TestNotFoundWhileDeletingMembers(t *testing.T) {
	w := newPruneWorld(t)
	applier := kit.NewApplier(t, w, pruner, apply.Policy{})
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: w, Applier: applier, Updater: newUpdater(t, w, update.DefaultRetry), Prune: true, Finalizer: setFinalizer,
		Emit: func(*corev1.ConfigMap) ([]apply.Intent, error) { return w.emit("ConfigMap other/a")() },
	})
	w.must(err)
	named := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(w.parent)}
	for range 2 { // the first adds the finalizer
		_, err = r.Reconcile(t.Context(), named)
		w.must(err)
	}
	webhook := kit.NewWebhook(t, w, w.other)
	webhook.Answer(kit.NotFoundOf("a"))
	w.must(w.Delete(t.Context(), w.parent))
	var log string
	logged := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log += args }, funcr.Options{}))
	result, err := r.Reconcile(logged, named)
	if err != nil || result.RequeueAfter < time.Second || !strings.Contains(log, "references.example.com") || !strings.Contains(log, "exists") {
		t.Errorf("the parent's deletion: %+v, %v, logged %s; want a retry of a refusal", result, err, log)
	}
	w.must(w.Get(t.Context(), named.NamespacedName, w.parent)) // it is still there
	webhook.Answer(nil)
	for range 2 {
		_, err = r.Reconcile(t.Context(), named)
		w.must(err)
	}
	var gone corev1.ConfigMap
	if err := w.Get(t.Context(), named.NamespacedName, &gone); client.IgnoreNotFound(err) != nil || err == nil || len(w.live()) > 0 {
		t.Errorf("the parent: %v; its members: %v", err, w.live())
	}
}

// TestNotFoundWhileDeletingMembersByHand: Sets.Delete is not done.
func TestNotFoundWhileDeletingMembersByHand(t *testing.T) {
	w := newPruneWorld(t)
	sets := w.process(&pruneRequests{})
	_, _, err := w.round(sets, "ConfigMap other/a")
	w.must(err)
	webhook := kit.NewWebhook(t, w, w.other)
	webhook.Answer(kit.NotFoundOf("a"))
	parent := w.parent.DeepCopyObject().(*corev1.ConfigMap)
	w.must(w.Get(t.Context(), client.ObjectKeyFromObject(parent), parent))
	parent.Finalizers = []string{setFinalizer}
	w.must(w.Update(t.Context(), parent))
	w.must(w.Delete(t.Context(), parent))
	_, done, err := sets.Delete(t.Context(), parent)
	several := (*applyset.PruneError)(nil)
	if done || !errors.As(err, &several) {
		t.Errorf("done %t: %v", done, err)
	}
	wantRefused(t, "Sets.Delete", err, "exists")
	parent.ObjectMeta = metav1.ObjectMeta{Namespace: parent.Namespace, Name: parent.Name}
	w.must(w.Patch(t.Context(), parent, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))))
}
