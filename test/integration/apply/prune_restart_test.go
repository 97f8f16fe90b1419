package apply

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/test/kit"
)

const (
	restartParents = 20
	restartMembers = 5 // of each parent
)

// TestPruneRestart: a process that starts anew finds all members as wanted in its cache.
// It looks at none of them past the cache, as it writes to none. What it asks for is what
// nobody else knows: what each parent says, and which objects of each kind have its label,
// among which may be what the process before it had no time to delete. Then it is silent.
func TestPruneRestart(t *testing.T) {
	w := newPruneWorld(t)
	var parents []client.ObjectKey
	var want []string
	for n := range restartParents {
		parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: fmt.Sprintf("parent-%d", n)}}
		w.must(w.Create(t.Context(), parent))
		parents = append(parents, client.ObjectKeyFromObject(parent))
		all := "GET /api/v1/namespaces/" + w.namespace
		want = append(want, all+"/configmaps/"+parent.Name, all+"/configmaps", all+"/secrets")
	}
	first := w.restarted(parents)
	if sent := first.untilSilent(t); len(sent) == 0 {
		t.Fatal("the first process sent nothing")
	}
	if live := w.live(); len(live) != restartParents*restartMembers {
		t.Fatalf("%d members live, want %d", len(live), restartParents*restartMembers)
	}
	again := w.restarted(parents)
	if diff := cmp.Diff(want, again.all(t)); diff != "" {
		t.Errorf("requests after a restart (-want +got):\n%s", diff)
	}
	if sent := again.all(t); len(sent) > 0 {
		t.Errorf("then it sent %v, want nothing", sent)
	}
}

// restarted is a process with a cache of its own, and no memory.
type restarted struct {
	*reconciler.Reconciler[*corev1.ConfigMap]

	parents  []client.ObjectKey
	requests *pruneRequests // but for those of the cache
}

func (w *pruneWorld) restarted(parents []client.ObjectKey) *restarted {
	w.Helper()
	plain, requests := kit.Server(w), &pruneRequests{}
	counted := rest.CopyConfig(plain)
	counted.Wrap(requests.wrap)
	live := kit.NewClient(w, counted)
	reads := newCache(w.T, w.namespace, false)
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}} {
		_, err := reads.GetInformer(w.Context(), kind) // which waits until it is filled
		w.must(err)
	}
	cached, err := client.New(counted, client.Options{Scheme: live.Scheme(), Mapper: live.RESTMapper(), Cache: &client.CacheOptions{Reader: reads}})
	w.must(err)
	set, err := discovery.NewDiscoveryClientForConfig(plain)
	w.must(err)
	steady, err := apply.NewSteadyState(reads, set.OpenAPIV3())
	w.must(err)
	applier, err := apply.New(cached, apply.Config{FieldManager: pruner, LiveReader: live, Steady: steady})
	w.must(err)
	updater, err := update.New(update.Config{Client: cached, LiveReader: live, FieldManager: pruner})
	w.must(err)
	r, err := reconciler.New(reconciler.Config[*corev1.ConfigMap]{
		Client: reads, Applier: applier, Updater: updater, Prune: true, Finalizer: setFinalizer,
		Emit: func(parent *corev1.ConfigMap) (intents []apply.Intent, err error) {
			owner := metav1ac.OwnerReference().WithAPIVersion("v1").WithKind("ConfigMap").WithName(parent.Name).WithUID(parent.UID)
			for n := range restartMembers - 1 {
				intents = append(intents, apply.Intent{Config: corev1ac.ConfigMap(fmt.Sprintf("%s-%d", parent.Name, n), parent.Namespace).
					WithOwnerReferences(owner).WithData(map[string]string{"n": fmt.Sprint(n)})})
			}
			intents = append(intents, apply.Intent{Config: corev1ac.Secret(parent.Name, parent.Namespace).WithOwnerReferences(owner)})
			return intents, nil
		},
	})
	w.must(err)
	return &restarted{r, parents, requests}
}

// all reconciles each parent once, and gives what was sent.
func (r *restarted) all(t *testing.T) []string {
	t.Helper()
	r.requests.take()
	for _, parent := range r.parents {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: parent}); err != nil {
			t.Log(err) // the cache is behind; the next round finds out whether that was all
		}
	}
	return r.requests.take()
}

// untilSilent gives all that was sent until nothing is any more.
func (r *restarted) untilSilent(t *testing.T) (sent []string) {
	t.Helper()
	kit.WaitFor(t, "the reconciles send nothing", func() string {
		now := r.all(t)
		sent = slices.Concat(sent, now)
		if len(now) > 0 {
			return fmt.Sprint(now)
		}
		return ""
	})
	return sent
}
