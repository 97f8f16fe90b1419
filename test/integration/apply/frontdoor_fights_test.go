package apply

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/test/kit"
)

// fight is one for a field of a ConfigMap, page, that ours forces and a person edits.
type fight struct {
	namespace string
	mgr       ctrl.Manager
	rt        *coapply.Runtime
	client    client.Client // the person's
}

const (
	oursHere = "example-shop"
	editor   = "example-editor"
)

// newFight has nothing set up but coapply.New.
func newFight(t *testing.T) *fight {
	t.Helper()
	f := &fight{client: kit.NewClient(t, kit.Server(t))}
	f.namespace = kit.NewNamespace(t, f.client)
	f.mgr = newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	})
	var err error
	if f.rt, err = coapply.New(f.mgr); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fight) page() *corev1ac.ConfigMapApplyConfiguration {
	return corev1ac.ConfigMap("page", f.namespace).WithData(map[string]string{"title": "ours"})
}

// title of the page; "" is that there is none.
func (f *fight) title(t *testing.T) string {
	t.Helper()
	var page corev1.ConfigMap
	if err := f.client.Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "page"}, &page); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return page.Data["title"]
}

// edit takes the title, whoever has it.
func (f *fight) edit(t *testing.T) {
	t.Helper()
	config := corev1ac.ConfigMap("page", f.namespace).WithData(map[string]string{"title": "theirs"})
	if err := f.client.Apply(t.Context(), config, client.FieldOwner(editor), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
}

// told checks that an event about an object names the field and both managers.
func (f *fight) told(t *testing.T, kind, name string) func() string {
	return func() string {
		var events eventsv1.EventList
		if err := f.client.List(t.Context(), &events, client.InNamespace(f.namespace)); err != nil {
			t.Fatal(err)
		}
		for i := range events.Items {
			e := &events.Items[i]
			if e.Regarding.Kind == kind && e.Regarding.Name == name && e.Reason == contention.ReasonFight &&
				strings.Contains(e.Note, oursHere) && strings.Contains(e.Note, editor) && strings.Contains(e.Note, ".data.title") {
				return ""
			}
		}
		return "no event"
	}
}

// untilEnded has the person take the title back each time, until it is told that they fight
// about it and ours lets them have it.
func (f *fight) untilEnded(t *testing.T, kind, name string) {
	t.Helper()
	kit.WaitFor(t, "the fight is told and over", func() string {
		if f.title(t) == "ours" {
			f.edit(t)
			return "the title is still taken back"
		}
		return f.told(t, kind, name)()
	})
}

// TestFrontDoorEndsFights: a controller of coapply.For whose policy forces gets the breaker,
// events and the condition without a line of its own.
func TestFrontDoorEndsFights(t *testing.T) {
	t.Parallel()
	f := newFight(t)
	service := corev1.SchemeGroupVersion.WithKind("Service")
	if err := coapply.For(f.rt, oursHere, func(shop *corev1.Service) ([]apply.Intent, error) {
		return []apply.Intent{{Config: f.page().WithOwnerReferences(coapply.OwnedBy(shop, service))}}, nil
	}).Owns(&corev1.ConfigMap{}).OnConflict(apply.OnConflict(apply.Force)).Complete(); err != nil {
		t.Fatal(err)
	}
	runDropInManager(t, f.mgr)
	shop := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "shop"},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if err := f.client.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	f.untilEnded(t, "ConfigMap", "page")
	kit.WaitFor(t, "the condition names both", func() string {
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(shop), shop); err != nil {
			t.Fatal(err)
		}
		c := meta.FindStatusCondition(shop.Status.Conditions, contention.Condition)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != contention.ReasonFight ||
			!strings.Contains(c.Message, oursHere) || !strings.Contains(c.Message, editor) {
			return fmt.Sprintf("it is %+v", c)
		}
		return ""
	})
	kit.WaitFor(t, "an event about the parent", f.told(t, "Service", "shop"))
}

// TestFrontDoorEndsFightsWithoutCondition: a parent whose kind has no status gets events
// alone, and no error.
func TestFrontDoorEndsFightsWithoutCondition(t *testing.T) {
	t.Parallel()
	f := newFight(t)
	secret := corev1.SchemeGroupVersion.WithKind("Secret")
	if err := coapply.For(f.rt, oursHere, func(shop *corev1.Secret) ([]apply.Intent, error) {
		return []apply.Intent{{Config: f.page().WithOwnerReferences(coapply.OwnedBy(shop, secret))}}, nil
	}).Owns(&corev1.ConfigMap{}).OnConflict(apply.OnConflict(apply.Force)).Complete(); err != nil {
		t.Fatal(err)
	}
	runDropInManager(t, f.mgr)
	if err := f.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	f.untilEnded(t, "ConfigMap", "page")
	kit.WaitFor(t, "an event about the parent", f.told(t, "Secret", "shop"))
}

// TestFrontDoorEndsFightsOfAClient: the drop-in client watches a kind once it met a conflict
// there.
func TestFrontDoorEndsFightsOfAClient(t *testing.T) {
	t.Parallel()
	f := newFight(t)
	runDropInManager(t, f.mgr)
	ours := f.rt.Client(oursHere, apply.OnConflict(apply.Force))
	kit.WaitFor(t, "the fight is told and over", func() string {
		err := ours.Apply(t.Context(), f.page())
		if errors.Is(err, apply.ErrConflict) && f.title(t) == "theirs" {
			return f.told(t, "ConfigMap", "page")()
		}
		if err != nil {
			t.Fatal(err)
		}
		f.edit(t)
		return "the title is still taken"
	})
}
