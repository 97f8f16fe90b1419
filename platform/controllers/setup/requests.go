package setup

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Enqueue returns a handler that reconciles the parent that an object names, whoever owns the
// object: if somebody else's object goes away, or loses its owner, the name may be free. An
// empty name enqueues nothing.
func Enqueue(parentOf func(client.Object) types.NamespacedName) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		parent := parentOf(object)
		if parent.Name == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: parent}}
	})
}
