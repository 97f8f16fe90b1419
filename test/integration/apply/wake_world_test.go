package apply

import (
	"fmt"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

const wakeManager = "example-wake"

// wakeWorld is a controller of ConfigMaps, each with a Deployment of its name, whose
// reconciles are counted.
type wakeWorld struct {
	*testing.T

	others    client.Client
	cached    client.Client
	namespace string

	mu         sync.Mutex
	reconciles map[string]int
	last       *corev1.ConfigMap // the parent of the last call of emit
}

// newWakeWorld starts the controller. build may add to it.
func newWakeWorld(t *testing.T, policy apply.Policy, build func(*coapply.Builder[*corev1.ConfigMap]) *coapply.Builder[*corev1.ConfigMap]) *wakeWorld {
	t.Helper()
	w := &wakeWorld{T: t, others: kit.NewClient(t, kit.Server(t)), reconciles: map[string]int{}}
	w.namespace = kit.NewNamespace(t, w.others)
	mgr := newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{w.namespace: {}}
		o.Cache.DefaultTransform = fieldowners.KeepOwn(wakeManager)
		o.Client = client.Options{}
	})
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	if err := build(coapply.For(rt, wakeManager, w.emit).OnConflict(policy)).Complete(); err != nil {
		t.Fatal(err)
	}
	w.cached = mgr.GetClient()
	applytest.StartManager(t, mgr)
	return w
}

func (w *wakeWorld) emit(parent *corev1.ConfigMap) ([]apply.Intent, error) {
	w.mu.Lock()
	if parent != w.last { // one reconcile may call emit twice, with the same parent
		w.reconciles[parent.Name]++
	}
	w.last = parent
	w.mu.Unlock()
	return []apply.Intent{{Config: kit.Shop(parent.Name, parent.Namespace).
		WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap")))}}, nil
}

func (w *wakeWorld) count(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reconciles[name]
}

// parent makes a parent, and waits until its child is there and the reconciler is at rest.
func (w *wakeWorld) parent(name string) {
	w.Helper()
	w.born(name)
	w.rest()
}

func (w *wakeWorld) born(name string) {
	w.Helper()
	if err := w.others.Create(w.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}); err != nil {
		w.Fatal(err)
	}
	kit.WaitFor(w.T, "the child of "+name, func() string {
		if err := w.cached.Get(w.Context(), w.key(name), &appsv1.Deployment{}); err != nil {
			return err.Error()
		}
		return ""
	})
}

// fence is a parent of its own, whose child others change so that it is reconciled.
const fence = "fence"

// rest waits until what has arrived in the cache was looked at, and what that leads to was reconciled. Events of one kind are
// looked at in turn, and one worker takes the parents in turn: so both are over when the fence was reconciled after them. The
// second time is for a parent that was being reconciled while the fence was queued: it comes after the first.
func (w *wakeWorld) rest() {
	w.Helper()
	if w.count(fence) == 0 {
		w.born(fence)
	}
	for range 2 {
		before := w.count(fence)
		w.patch(fence, "", `{"metadata":{"labels":{"tier":null}}}`)
		kit.WaitFor(w.T, "the fence is put right", func() string {
			if w.count(fence) == before || w.child(fence).Labels["tier"] == "" {
				return "it is not"
			}
			return ""
		})
	}
}

func (w *wakeWorld) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: w.namespace, Name: name}
}

func (w *wakeWorld) child(name string) *appsv1.Deployment {
	w.Helper()
	child := &appsv1.Deployment{}
	if err := w.others.Get(w.Context(), w.key(name), child); err != nil {
		w.Fatal(err)
	}
	return child
}

// patch writes to a child as somebody else.
func (w *wakeWorld) patch(name, subresource, patch string) {
	w.Helper()
	child := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}
	merge := client.RawPatch(types.MergePatchType, []byte(patch))
	var err error
	switch subresource {
	case "":
		err = w.others.Patch(w.Context(), child, merge, client.FieldOwner("others"))
	case "scale":
		err = w.others.SubResource(subresource).Patch(w.Context(), child, merge, client.FieldOwner("others"), client.WithSubResourceBody(&autoscalingv1.Scale{}))
	default:
		err = w.others.SubResource(subresource).Patch(w.Context(), child, merge, client.FieldOwner("others"))
	}
	if err != nil {
		w.Fatal(err)
	}
}

// arrived waits until the controller's cache has a child as it is at the server.
func (w *wakeWorld) arrived(name string) {
	w.Helper()
	want := w.child(name).ResourceVersion
	kit.WaitFor(w.T, "the change reaches the cache", func() string {
		child := &appsv1.Deployment{}
		if err := w.cached.Get(w.Context(), w.key(name), child); err != nil || child.ResourceVersion != want {
			return fmt.Sprint(err, " at ", child.ResourceVersion, ", want ", want)
		}
		return ""
	})
}
