package apply

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/apply/breaker"
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

// newFight returns a fight whose Runtime has a Breaker.
func newFight(t *testing.T) *fight {
	t.Helper()
	f := &fight{client: kit.NewClient(t, kit.Server(t))}
	f.namespace = kit.NewNamespace(t, f.client)
	f.mgr = newDropInManager(t, kit.Server(t), func(o *ctrl.Options) {
		o.Cache.DefaultNamespaces = map[string]cache.Config{f.namespace: {}}
	})
	now := time.Now()
	forces, err := breaker.New(breaker.Config{Now: func() time.Time { return now }}) // it forgets after a minute, which may pass on a busy machine
	if err != nil {
		t.Fatal(err)
	}
	if f.rt, err = coapply.New(f.mgr, coapply.WithBreaker(forces)); err != nil {
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

// edit takes the title, whoever has it, and returns the resource version of the page.
func (f *fight) edit(t *testing.T) string {
	t.Helper()
	config := corev1ac.ConfigMap("page", f.namespace).WithData(map[string]string{"title": "theirs"})
	if err := f.client.Apply(t.Context(), config, client.FieldOwner(editor), client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	return *config.ResourceVersion
}

// told returns "" if an event on the page names the field and both managers.
func (f *fight) told(t *testing.T) string {
	var events eventsv1.EventList
	if err := f.client.List(t.Context(), &events, client.InNamespace(f.namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range events.Items {
		e := &events.Items[i]
		if e.Regarding.Kind == "ConfigMap" && e.Regarding.Name == "page" && e.Reason == breaker.ReasonFight &&
			strings.Contains(e.Note, oursHere) && strings.Contains(e.Note, editor) && strings.Contains(e.Note, ".data.title") {
			return ""
		}
	}
	return "no event"
}

// TestBreakerOfFor: a controller of coapply.For whose policy forces stops after three forces, and an
// event on the object names the field and both managers.
func TestBreakerOfFor(t *testing.T) {
	t.Parallel()
	f := newFight(t)
	secret := corev1.SchemeGroupVersion.WithKind("Secret")
	if err := coapply.For(f.rt, oursHere, func(shop *corev1.Secret) ([]apply.Intent, error) {
		return []apply.Intent{{Config: f.page().WithOwnerReferences(coapply.OwnedBy(shop, secret))}}, nil
	}).Owns(&corev1.ConfigMap{}).OnConflict(apply.OnConflict(apply.Force)).Complete(); err != nil {
		t.Fatal(err)
	}
	applytest.StartManager(t, f.mgr)
	if err := f.client.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	taken := 0
	kit.WaitFor(t, "the controller stops", func() string {
		if f.title(t) == "ours" {
			f.edit(t)
			taken++
			return "the title is still forced"
		}
		return f.told(t)
	})
	if taken != 4 { // the first creates the page, and forces nothing
		t.Errorf("the title was taken %d times, want 4", taken)
	}
}

// TestBreakerOfAClient: the drop-in client returns a conflict that names the time of the next force.
func TestBreakerOfAClient(t *testing.T) {
	t.Parallel()
	f := newFight(t)
	applytest.StartManager(t, f.mgr)
	ours := f.rt.Client(oursHere, apply.OnConflict(apply.Force))
	for i := range 4 {
		if err := ours.Apply(t.Context(), f.page()); err != nil {
			t.Fatal(i, err)
		}
		edited := f.edit(t) // its title alone does not tell it from the edit before
		kit.WaitFor(t, "the cache has the edit", func() string {
			var page corev1.ConfigMap
			if err := f.mgr.GetClient().Get(t.Context(), client.ObjectKey{Namespace: f.namespace, Name: "page"}, &page); err != nil {
				return err.Error()
			}
			if page.ResourceVersion != edited {
				return "the cache has resource version " + page.ResourceVersion + ", the edit " + edited
			}
			return ""
		})
	}
	err := ours.Apply(t.Context(), f.page())
	if !errors.Is(err, apply.ErrConflict) || !strings.Contains(err.Error(), "back 3 times within a minute, so the field will not be forced before ") || f.title(t) != "theirs" {
		t.Error(err)
	}
	kit.WaitFor(t, "the event", func() string { return f.told(t) })
}
