package watch

import (
	"context"
	"fmt"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
)

// Watch passes the changes of some kinds' objects to a State. It is safe for concurrent use.
type Watch struct {
	state      *contention.State
	tell       *teller
	cache      cache.Cache
	mapper     meta.RESTMapper
	controller controller.TypedController[apply.ObjectRef]
	applied    chan event.TypedGenericEvent[apply.ObjectRef] // kinds and namespaces in which conflicts were met, as objects without a name

	mu      sync.RWMutex
	kinds   map[schema.GroupKind]bool
	parents map[schema.GroupKind]schema.GroupVersionKind
}

// New adds a Watch to a manager. It watches nothing yet. The Applier applies the condition.
func New(mgr manager.Manager, state *contention.State, applier *apply.Applier) (*Watch, error) {
	w := &Watch{
		state: state, cache: mgr.GetCache(), mapper: mgr.GetRESTMapper(),
		applied: make(chan event.TypedGenericEvent[apply.ObjectRef], 16),
		kinds:   map[schema.GroupKind]bool{}, parents: map[schema.GroupKind]schema.GroupVersionKind{},
		tell: &teller{state: state, live: mgr.GetAPIReader(), applier: applier, events: mgr.GetEventRecorder(contention.FieldManager)},
	}
	var err error
	if w.controller, err = controller.NewTyped("fights", mgr, controller.TypedOptions[apply.ObjectRef]{
		Reconciler: w, SkipNameValidation: new(true), // a process may have several managers
	}); err != nil {
		return nil, err
	}
	if err := w.controller.Watch(source.TypedChannel(w.applied, handler.TypedFuncs[apply.ObjectRef, apply.ObjectRef]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[apply.ObjectRef], q queue) { q.Add(e.Object) },
	})); err != nil {
		return nil, err
	}
	return w, mgr.Add(leading{state})
}

// leading tells the State when this process begins to lead: the manager starts it only then.
type leading struct{ state *contention.State }

// Start implements manager.Runnable.
func (l leading) Start(context.Context) error {
	l.state.Lead()
	return nil
}

// Parent watches a kind whose controllers run in this process: its objects get the condition,
// and objects that they control belong to them.
func (w *Watch) Parent(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	w.parents[kind.GroupKind()] = kind
	w.mu.Unlock()
	return w.Kind(kind)
}

// Kind watches a kind, in the version of the first call for it. It needs the rights to list and
// watch the kind.
func (w *Watch) Kind(kind schema.GroupVersionKind) error {
	w.mu.Lock()
	watched := w.kinds[kind.GroupKind()]
	w.kinds[kind.GroupKind()] = true
	w.mu.Unlock()
	if watched {
		return nil
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(kind)
	return w.controller.Watch(source.TypedKind[client.Object, apply.ObjectRef](w.cache, metadata, watcher{kind, w}.handler()))
}

// Conflicted begins to watch the kind of an object, if it may be listed in the object's
// namespace. It returns at once; the watch begins when the manager runs.
func (w *Watch) Conflicted(object apply.ObjectRef) {
	w.mu.RLock()
	watched := w.kinds[object.GroupKind()]
	w.mu.RUnlock()
	if watched {
		return
	}
	where := apply.ObjectRef{GroupVersionKind: object.GroupVersionKind}
	where.Namespace = object.Namespace
	select {
	case w.applied <- event.TypedGenericEvent[apply.ObjectRef]{Object: where}:
	default: // the next conflict will do
	}
}

// Reconcile implements reconcile.TypedReconciler.
func (w *Watch) Reconcile(ctx context.Context, subject apply.ObjectRef) (reconcile.Result, error) {
	if subject.Name == "" {
		return reconcile.Result{}, w.begin(ctx, subject)
	}
	return w.tell.about(ctx, subject, w.isParent(subject.GroupVersionKind))
}

// begin begins to watch the kind of objects in which conflicts were met.
func (w *Watch) begin(ctx context.Context, where apply.ObjectRef) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(where.GroupVersionKind.GroupVersion().WithKind(where.Kind + "List"))
	err := w.tell.live.List(ctx, list, client.InNamespace(where.Namespace), client.Limit(1))
	switch {
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err), apierrors.IsNotFound(err):
		w.mu.Lock()
		w.kinds[where.GroupKind()] = true
		w.mu.Unlock()
		logr.FromContextOrDiscard(ctx).Info("fights for fields of this kind are not seen: grant list and watch, or give coapply.New "+
			"coapply.WithContention(nil)", "kind", where.GroupKind().String(), "error", err.Error())
		return nil
	case err != nil:
		return fmt.Errorf("listing %v: %w", where.GroupKind(), err)
	}
	return w.Kind(where.GroupVersionKind)
}

func (w *Watch) isParent(kind schema.GroupVersionKind) bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.parents[kind.GroupKind()] == kind
}

// parentOf returns the parent that controls an object, or zero.
func (w *Watch) parentOf(object client.Object) apply.ObjectRef {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return apply.ObjectRef{}
	}
	group, _ := schema.ParseGroupVersion(owner.APIVersion) // the server refuses one that does not parse
	w.mu.RLock()
	kind, ours := w.parents[schema.GroupKind{Group: group.Group, Kind: owner.Kind}]
	w.mu.RUnlock()
	if !ours {
		return apply.ObjectRef{}
	}
	parent := apply.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Name: owner.Name}, UID: owner.UID}
	if mapping, err := w.mapper.RESTMapping(kind.GroupKind(), kind.Version); err != nil || mapping.Scope.Name() != meta.RESTScopeNameRoot {
		parent.Namespace = object.GetNamespace()
	}
	return parent
}
