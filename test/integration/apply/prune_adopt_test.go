package apply

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

const familyManager = "example-family"

// family has parents, ConfigMaps, that list the names of their children, Secrets.
type family struct {
	client    client.Client
	namespace string
	emitted   atomic.Int64 // calls of emit for the parent "two"
}

// newFamily runs a controller of coapply.For with Prune. Before it starts, a plain client has
// applied the children under the controller's field manager.
func newFamily(t *testing.T, owned bool, children ...string) *family {
	t.Helper()
	f := &family{client: kit.NewClient(t, kit.Server(t))}
	f.namespace = kit.NewNamespace(t, f.client)
	for _, child := range children {
		if err := f.client.Apply(t.Context(), f.child(child), client.FieldOwner(familyManager)); err != nil {
			t.Fatal(err)
		}
	}
	mgr := newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
		o.Cache.DefaultTransform = fieldowners.KeepOwn(familyManager) // a cache that hides who else wrote
	})
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	err = coapply.For(rt, familyManager, func(parent *corev1.ConfigMap) (intents []apply.Intent, err error) {
		if parent.Name == "two" {
			f.emitted.Add(1)
		}
		for name := range strings.FieldsSeq(parent.Data["children"]) {
			child := f.child(name)
			if owned {
				child.WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap")))
			}
			intents = append(intents, apply.Intent{Config: child})
		}
		return intents, nil
	}).Finalizer("example.com/family", nil).Prune().Complete()
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	return f
}

func (f *family) child(name string) *corev1ac.SecretApplyConfiguration {
	return corev1ac.Secret(name, f.namespace).WithStringData(map[string]string{"key": "value"})
}

func (f *family) newParent(t *testing.T, name, children string) *corev1.ConfigMap {
	t.Helper()
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}, Data: map[string]string{"children": children}}
	if err := f.client.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// secret returns a child, or nil if there is none.
func (f *family) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	var secret corev1.Secret
	err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, &secret)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return &secret
}

// isOf reports whether a child is in the set of a parent.
func isOf(child *corev1.Secret, parent *corev1.ConfigMap) bool {
	set := applyset.ID(apply.ObjectRef{GroupVersionKind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), NamespacedName: client.ObjectKeyFromObject(parent)})
	return child != nil && child.Labels[applyset.PartOfLabel] == set
}

func (f *family) waitFor(t *testing.T, what string, check func() bool) {
	t.Helper()
	kit.WaitFor(t, what, func() string {
		if check() {
			return ""
		}
		return fmt.Sprintf("a is %v, b is %v", f.secret(t, "a"), f.secret(t, "b"))
	})
}

func (f *family) delete(t *testing.T, parent *corev1.ConfigMap) {
	t.Helper()
	if err := f.client.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	f.waitFor(t, parent.Name+" goes", func() bool {
		return apierrors.IsNotFound(f.client.Get(t.Context(), client.ObjectKeyFromObject(parent), &corev1.ConfigMap{}))
	})
}

// TestPruneAdoptsWhatWeApplied: an object that only a plain client under our field manager wrote
// becomes a child of the parent. The object is kept, pruned, and deleted with the parent, as
// other children are.
func TestPruneAdoptsWhatWeApplied(t *testing.T) {
	t.Parallel()
	for _, owned := range []bool{false, true} {
		t.Run(fmt.Sprint("owner reference ", owned), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, owned, "a", "b")
			uids := map[string]types.UID{"a": f.secret(t, "a").UID, "b": f.secret(t, "b").UID}
			parent := f.newParent(t, "one", "a b")
			f.waitFor(t, "both are adopted", func() bool { return isOf(f.secret(t, "a"), parent) && isOf(f.secret(t, "b"), parent) })
			change := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"children":"b"}}`))
			if err := f.client.Patch(t.Context(), parent, change); err != nil {
				t.Fatal(err)
			}
			f.waitFor(t, "a is pruned", func() bool { return f.secret(t, "a") == nil })
			if b := f.secret(t, "b"); b == nil || b.UID != uids["b"] {
				t.Errorf("b is %v; want that of uid %s", b, uids["b"])
			}
			f.delete(t, parent)
			if b := f.secret(t, "b"); b != nil {
				t.Errorf("the parent left %v", b)
			}
		})
	}
}

// TestPruneLeavesTheChildOfAnotherParent: if two parents emit the same child, the second parent
// neither adopts nor deletes the child.
func TestPruneLeavesTheChildOfAnotherParent(t *testing.T) {
	t.Parallel()
	f := newFamily(t, false, "a")
	one := f.newParent(t, "one", "a")
	f.waitFor(t, "one adopts a", func() bool { return isOf(f.secret(t, "a"), one) })
	uid := f.secret(t, "a").UID
	two := f.newParent(t, "two", "a")
	f.waitFor(t, "two emits a", func() bool { return f.emitted.Load() > 0 })
	f.delete(t, two) // after its reconcile
	if a := f.secret(t, "a"); !isOf(a, one) || a.UID != uid {
		t.Errorf("a is %v; want that of the parent one, of uid %s", a, uid)
	}
	f.delete(t, one)
	if a := f.secret(t, "a"); a != nil {
		t.Errorf("the parent left %v", a)
	}
}

// TestPruneAdoptsNothingOfOthers: an object to which somebody else wrote is not changed, even if
// the cache does not show the other manager. The event says why, and what to do.
func TestPruneAdoptsNothingOfOthers(t *testing.T) {
	t.Parallel()
	f := newFamily(t, false)
	edited := corev1ac.Secret("a", f.namespace).WithLabels(map[string]string{"team": "them"})
	if err := f.client.Apply(t.Context(), edited, client.FieldOwner("example-person")); err != nil {
		t.Fatal(err)
	}
	if err := f.client.Apply(t.Context(), f.child("a"), client.FieldOwner(familyManager)); err != nil {
		t.Fatal(err)
	}
	parent := f.newParent(t, "one", "a")
	kit.WaitFor(t, "the event", func() string {
		w := loopWorld{live: f.client}
		notes := w.notes(t, f.namespace, "NameTaken", "ConfigMap", "one")
		for _, part := range []string{"Secret " + f.namespace + "/a", "example-person/Apply", "Belongs"} {
			if len(notes) == 0 || !strings.Contains(notes[0], part) {
				return fmt.Sprintf("no %s in %q", part, notes)
			}
		}
		return ""
	})
	f.delete(t, parent)
	if a := f.secret(t, "a"); a == nil || isOf(a, parent) {
		t.Errorf("a is %v; want it as it was", a)
	}
}
