package reconciler_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

const finalizer = "example.com/web"

// parentType stands for a custom resource: it has a status.
type parentType = *appsv1.Deployment

// world is a parent with a reconciler around it. The fake client is transport
// only; what it is asked for, and what the reconciler calls, is kept in order.
type world struct {
	t      *testing.T
	store  client.WithWatch
	cached parentType // nil: absent
	before parentType // what must not change
	happened
	config reconciler.Config[parentType]
	events *events.FakeRecorder
	fails  map[string]error // by what happened: the answer of that request
	more   []apply.Intent   // emitted as well
	isGone bool             // a write was answered with a 404, and live reads are
}

// happened is what happened, in order.
type happened []string

func (h *happened) note(what string) { *h = append(*h, what) }

func (h happened) String() string { return strings.Join(h, ", ") }

// parent is one that is not being deleted.
func parent() parentType {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "uid-1", Generation: 3, Annotations: map[string]string{"kept": "yes"},
	}}
}

// newWorld has a reconciler with everything configured, that emits two intents.
func newWorld(t *testing.T, object parentType) *world {
	t.Helper()
	w := &world{t: t, fails: map[string]error{}, events: events.NewFakeRecorder(16)}
	w.store = w.fake(object)
	if object != nil {
		w.cached = &appsv1.Deployment{}
		if err := w.store.Get(t.Context(), client.ObjectKeyFromObject(object), w.cached); err != nil {
			t.Fatal(err)
		}
		w.before = w.cached.DeepCopy()
	}
	w.configure()
	t.Cleanup(func() {
		if diff := cmp.Diff(w.before, w.cached); diff != "" {
			t.Errorf("the parent in the cache was changed (-before +after):\n%s", diff)
		}
	})
	return w
}

func (w *world) fake(object parentType) client.WithWatch {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{corev1.SchemeGroupVersion})
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	builder := fake.NewClientBuilder().WithStatusSubresource(&appsv1.Deployment{}).WithReturnManagedFields().WithRESTMapper(mapper)
	if object != nil {
		builder.WithObjects(object)
	}
	return interceptor.NewClient(builder.Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.isGone {
				return notFound()
			}
			return c.Get(ctx, key, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return w.serve("PUT", func() error { return c.Update(ctx, o, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return w.serve("PUT "+sub, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
		SubResourceApply: func(ctx context.Context, c client.Client, sub string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			return w.serve("apply "+sub, func() error { return c.SubResource(sub).Apply(ctx, o, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			name := "parent" // unstructured: what an ApplySet has on it
			if child, ok := o.(interface {
				GetKind() *string
				GetName() *string
			}); ok && *child.GetKind() == "ConfigMap" {
				name = *child.GetName()
			}
			options := (&client.ApplyOptions{}).ApplyOptions(opts)
			if options.Force != nil && *options.Force {
				name += " forced"
			}
			return w.serve("apply "+name, func() error { return c.Apply(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return w.serve("delete "+o.GetName(), func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

func (w *world) serve(request string, pass func() error) error {
	w.note(request)
	if err := w.fails[request]; err != nil {
		w.isGone = w.isGone || apierrors.IsNotFound(err) && !apierrors.IsUnexpectedServerError(err)
		return err
	}
	return pass()
}

func (w *world) configure() {
	applier, err := apply.New(w.store, apply.Config{FieldManager: "test", LiveReader: w.store,
		Policy: apply.OnConflict(apply.Reject).At(".data.taken", apply.Force)})
	w.must(err)
	updater, err := update.New(update.Config{Client: w.store, LiveReader: w.store, FieldManager: "test"})
	w.must(err)
	w.config = reconciler.Config[parentType]{
		Client: cacheOf{w}, Applier: applier, Updater: updater, Finalizer: finalizer, Events: w.events,
		Emit: func(parentType) ([]apply.Intent, error) {
			if len(w.happened) == 0 || w.happened[len(w.happened)-1] != "emit" { // the second call compares
				w.note("emit")
			}
			return append(emission("a", "b"), w.more...), w.fails["emit"]
		},
		Cleanup: func(context.Context, parentType) (bool, error) {
			w.note("cleanup")
			return true, w.fails["cleanup"]
		},
		Status: func(context.Context, parentType, reconciler.Applied) (reconciler.Report[parentType], error) {
			w.note("status")
			return reconciler.Report[parentType]{
				Change: func(p parentType) error { p.Status.ObservedGeneration = p.Generation; return nil },
				Then:   func(context.Context) error { w.note("then"); return w.fails["then"] },
			}, w.fails["status"]
		},
		Gone: func(_ context.Context, name types.NamespacedName) error {
			w.note("gone " + name.String())
			return w.fails["gone"]
		},
	}
}

func emission(names ...string) (intents []apply.Intent) {
	for _, name := range names {
		config := corev1ac.ConfigMap(name, "shop").WithData(map[string]string{"k": name})
		intents = append(intents, apply.Intent{Config: config})
	}
	return intents
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) reconcile(ctx context.Context) (reconcile.Result, error) {
	w.t.Helper()
	r, err := reconciler.New(w.config)
	w.must(err)
	return r.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
}

// told returns the events so far.
func (w *world) told() (all []string) {
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

// cacheOf reads the parent without a deep copy, as caches may be told to: whoever
// writes to what it gives writes to the cache.
type cacheOf struct{ *world }

func (c cacheOf) Get(ctx context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if err := errors.Join(ctx.Err(), c.fails["GET"]); err != nil {
		return err
	}
	if c.cached == nil {
		return notFound()
	}
	*into.(parentType) = *c.cached
	return nil
}

func (c cacheOf) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("no reconcile lists")
}

func notFound() error { return apierrors.NewNotFound(appsv1.Resource("deployments"), "web") }

// owned makes a config map of the parent's of which another manager owns a field.
func (w *world) owned(name, field string) {
	w.t.Helper()
	w.must(w.store.Create(w.t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name, UID: types.UID("uid-" + name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "uid-1"}},
		},
		Data: map[string]string{field: "theirs"},
	}, client.FieldOwner("other")))
}

func conflictOver(field string) error {
	return apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".data." + field, Message: `conflict with "other" using v1`,
	}}, "Apply failed with 1 conflict")
}
