package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/test/kit"
)

// TestFrontDoorRecords: what an apply did is told, though the manager's clients were there
// before New.
func TestFrontDoorRecords(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	mgr := newDropInManager(t, kit.Server(t), readYourWrites)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applier, err := rt.Applier(dropInManager, apply.Policy{})
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	page := func(data string) apply.Intent {
		return apply.Intent{Config: corev1ac.ConfigMap("page", namespace).WithData(map[string]string{"a": data})}
	}
	for n, action := range []apply.Action{apply.Created, apply.Configured} {
		if outcome, err := applier.Apply(t.Context(), page(fmt.Sprint(n+1))); err != nil || outcome.Action != action || outcome.Requests != 1 {
			t.Errorf("%v, %s with %d requests; want %s with 1", err, outcome.Action, outcome.Requests, action)
		}
	}
	kit.WaitFor(t, "an apply without a request, as soon as the schema of ConfigMaps is known", func() string {
		outcome, err := applier.Apply(t.Context(), page("2"))
		if err != nil || outcome.Action != apply.Unchanged {
			t.Fatalf("%v, %s; want %s", err, outcome.Action, apply.Unchanged)
		}
		if outcome.Requests > 0 {
			return fmt.Sprint(outcome.Requests, " requests")
		}
		return ""
	})
}

// TestFrontDoorTakesTurns: of many writers to one object through clients of one Runtime, few
// are at the server at a time.
func TestFrontDoorTakesTurns(t *testing.T) {
	t.Parallel()
	const writers = 16
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	restConfig := rest.CopyConfig(kit.Server(t))
	restConfig.QPS = -1
	var way turns
	restConfig.Wrap(way.wrap)
	mgr := newDropInManager(t, restConfig)
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	ours := rt.Client(dropInManager, apply.Policy{})
	ended := make(chan error, writers)
	for i := range writers {
		config := corev1ac.ConfigMap("page", namespace).WithData(map[string]string{fmt.Sprint("key", i): "x"})
		go func() { ended <- ours.Apply(t.Context(), config, client.FieldOwner(fmt.Sprint("writer-", i))) }()
	}
	for range writers {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	var page corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "page"}, &page); err != nil || len(page.Data) != writers {
		t.Errorf("%v: %d keys of %d", err, len(page.Data), writers)
	}
	if way.max > writers/2 { // how many a lane lets in is the lane's to say
		t.Errorf("%d at the server at a time", way.max)
	}
}

// TestFrontDoorPrunes: a controller with a finalizer and pruning, of a kind that has no
// generation.
func TestFrontDoorPrunes(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	mgr := newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	})
	rt, err := coapply.New(mgr)
	if err != nil {
		t.Fatal(err)
	}
	err = coapply.For(rt, "example-family", func(parent *corev1.ConfigMap) (intents []apply.Intent, err error) {
		for name := range strings.FieldsSeq(parent.Data["children"]) {
			intents = append(intents, apply.Intent{Config: corev1ac.Secret(name, parent.Namespace).
				WithOwnerReferences(coapply.OwnedBy(parent, corev1.SchemeGroupVersion.WithKind("ConfigMap")))})
		}
		return intents, nil
	}).Owns(&corev1.Secret{}).Finalizer("example.com/family", nil).Prune().Complete()
	if err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, mgr)
	wantChildren := func(want ...string) {
		t.Helper()
		kit.WaitFor(t, fmt.Sprint("children ", want), func() string {
			var secrets corev1.SecretList
			if err := c.List(t.Context(), &secrets, client.InNamespace(namespace)); err != nil {
				t.Fatal(err)
			}
			var names []string
			for i := range secrets.Items {
				names = append(names, secrets.Items[i].Name)
			}
			if !slices.Equal(names, want) {
				return fmt.Sprint("there are ", names)
			}
			return ""
		})
	}
	parent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "parent"}, Data: map[string]string{"children": "a b"}}
	if err := c.Create(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	wantChildren("a", "b")
	change := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"children":"b c"}}`))
	if err := c.Patch(t.Context(), parent, change); err != nil {
		t.Fatal(err)
	}
	wantChildren("b", "c")
	if err := c.Delete(t.Context(), parent); err != nil {
		t.Fatal(err)
	}
	wantChildren()
	kit.WaitFor(t, "the parent goes", func() string {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(parent), parent); !apierrors.IsNotFound(err) {
			return fmt.Sprint(err, parent.Finalizers)
		}
		return ""
	})
}
