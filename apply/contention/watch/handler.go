package watch

import (
	"context"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"coapply.dev/apply"
	"coapply.dev/apply/contention"
	"coapply.dev/fieldowners"
)

type queue = workqueue.TypedRateLimitingInterface[apply.ObjectRef]

// watcher passes the changes of one kind's objects to the State, in the order in which they
// happened, which a queue would not keep.
type watcher struct {
	kind schema.GroupVersionKind
	of   *Watch
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
	if !w.of.state.Concerns(object, before) && !w.of.state.Concerns(object, after) {
		return
	}
	change, err := contention.Seen(before, after)
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "managed fields cannot be read", "object", object.String())
		return
	}
	addAll(q, w.of.state.Observe(object, change))
	if w.isParent() && tookMark(change) {
		q.Add(object.ObjectRef)
	}
}

// found queues, after CoolDown, an object with our condition, which another process may have left.
func (w watcher) found(object client.Object, q queue) {
	if w.isParent() && marked(object) {
		q.AddAfter(w.ref(object), w.of.state.CoolDown)
	}
}

// marked reports whether an object has our condition.
func marked(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == contention.FieldManager
	})
}

func (w watcher) gone(object client.Object, q queue) {
	addAll(q, w.of.state.Forget(w.object(object)))
}

func addAll(q queue, subjects []apply.ObjectRef) {
	for _, subject := range subjects {
		q.Add(subject)
	}
}

// tookMark reports whether somebody else removed our condition, or wrote to it.
func tookMark(change contention.Change) bool {
	return slices.ContainsFunc(change.Fields.Lost, func(lost fieldowners.Owned) bool { return lost.Manager.Name == contention.FieldManager }) ||
		slices.ContainsFunc(change.Fields.Moved, func(moved fieldowners.Moved) bool { return moved.From.Name == contention.FieldManager })
}

// object returns the object with its parent.
func (w watcher) object(object client.Object) contention.Object {
	described := contention.Object{ObjectRef: w.ref(object)}
	if w.isParent() {
		described.Parent = described.ObjectRef
	} else {
		described.Parent = w.of.parentOf(object)
	}
	return described
}

func (w watcher) ref(object client.Object) apply.ObjectRef {
	return apply.ObjectRef{GroupVersionKind: w.kind, NamespacedName: client.ObjectKeyFromObject(object), UID: object.GetUID()}
}

func (w watcher) isParent() bool { return w.of.isParent(w.kind) }
