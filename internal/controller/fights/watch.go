package fights

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/internal/controller/fieldmanagers"
)

type queue = workqueue.TypedRateLimitingInterface[apply.ObjectRef]

// watcher shows the changes of one kind's objects to the state, in the order in which
// they happened, which a queue would not keep.
type watcher struct {
	kind  schema.GroupVersionKind
	wide  map[string]bool // kinds of ours without a namespace
	state *contention.State
}

func (w watcher) handler() handler.TypedFuncs[client.Object, apply.ObjectRef] {
	return handler.TypedFuncs[client.Object, apply.ObjectRef]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[client.Object], q queue) { w.found(e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.TypedUpdateEvent[client.Object], q queue) {
			w.changed(ctx, e.ObjectOld, e.ObjectNew, q)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[client.Object], q queue) { w.gone(e.Object, q) },
	}
}

func (w watcher) changed(ctx context.Context, before, after client.Object, q queue) {
	if before.GetUID() != after.GetUID() {
		w.gone(before, q)
		w.found(after, q)
		return
	}
	object := w.object(after)
	if !concernsUs(object, before) && !concernsUs(object, after) {
		return
	}
	change, err := contention.Seen(before, after)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "managed fields cannot be read", "object", object.String())
		return
	}
	if !change.IsEmpty() {
		addAll(q, w.state.Observe(object, change))
	}
	if w.ofOurs() && marked(before) && coapply.Lost(fieldmanagers.Fights).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		q.Add(object.ObjectRef) // somebody took our condition out
	}
}

// found looks at a condition that was left behind.
func (w watcher) found(object client.Object, q queue) {
	if w.ofOurs() && marked(object) {
		q.AddAfter(w.ref(object), w.state.CoolDown)
	}
}

// marked reports whether an object has our condition.
func marked(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fieldmanagers.Fights
	})
}

func (w watcher) gone(object client.Object, q queue) {
	addAll(q, w.state.Forget(w.object(object)))
}

func addAll(q queue, subjects []apply.ObjectRef) {
	for _, subject := range subjects {
		q.Add(subject)
	}
}

// object returns the watched object with its parent, if it has one of ours.
func (w watcher) object(object client.Object) contention.Object {
	described := contention.Object{ObjectRef: w.ref(object)}
	owner := metav1.GetControllerOfNoCopy(object)
	switch {
	case w.ofOurs():
		described.Parent = described.ObjectRef
	case owner != nil && owner.APIVersion == v1alpha1.SchemeGroupVersion.String():
		described.Parent = apply.ObjectRef{
			GroupVersionKind: v1alpha1.SchemeGroupVersion.WithKind(owner.Kind),
			NamespacedName:   types.NamespacedName{Namespace: object.GetNamespace(), Name: owner.Name},
			UID:              owner.UID,
		}
		if w.wide[owner.Kind] {
			described.Parent.Namespace = ""
		}
	}
	return described
}

func (w watcher) ref(object client.Object) apply.ObjectRef {
	return apply.ObjectRef{GroupVersionKind: w.kind, NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID()}
}

func (w watcher) ofOurs() bool { return ofOurs(w.kind) }

func ofOurs(kind schema.GroupVersionKind) bool {
	return kind.GroupVersion() == v1alpha1.SchemeGroupVersion
}

// concernsUs reports whether an object belongs to one of ours, or a manager of ours owns
// anything of it.
func concernsUs(described contention.Object, object client.Object) bool {
	return described.Parent.Name != "" || slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return isOurs(entry.Manager)
	})
}
