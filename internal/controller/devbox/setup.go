package devbox

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
)

// writers makes the two ways to write under one field manager.
func writers(mgr ctrl.Manager, fieldManager string, policy apply.Policy, metrics apply.Metrics) (*apply.Applier, *update.Updater, error) {
	applier, err := apply.New(ownOnly{mgr.GetClient()}, apply.Config{
		FieldManager: fieldManager,
		Policy:       policy,
		LiveReader:   mgr.GetAPIReader(),
		Metrics:      metrics,
	})
	if err != nil {
		return nil, nil, err
	}
	updater, err := update.New(update.Config{
		Client:       mgr.GetClient(),
		LiveReader:   mgr.GetAPIReader(),
		FieldManager: fieldManager,
		Metrics:      metrics,
	})
	return applier, updater, err
}

// complete builds the reconciler and hands it to the controller builder.
func complete(builder *ctrl.Builder, name string, config reconciler.Config[*v1alpha1.Devbox]) error {
	r, err := reconciler.New(config)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := builder.Named(name).Complete(r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// worthReconciling lets those changes of a Devbox through that a reconciler acts
// on: its spec (and deletion), its content, and the pause. Its status changes with
// every write of the others. Children and drift come by their own watches.
func worthReconciling() predicate.Predicate {
	return predicate.Or(
		predicate.GenerationChangedPredicate{},
		changed(func(box *v1alpha1.Devbox) string { return box.Status.ContentID }),
		changed(func(box *v1alpha1.Devbox) string { return box.Annotations[reconciler.PausedAnnotation] }),
	)
}

// controllerChanged lets through that an object comes to, or goes from, a Devbox,
// which does not change its generation.
func controllerChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(metav1.GetControllerOf(e.ObjectOld), metav1.GetControllerOf(e.ObjectNew))
	}}
}

func changed(of func(*v1alpha1.Devbox) string) predicate.Predicate {
	value := func(object client.Object) string {
		box, ok := object.(*v1alpha1.Devbox)
		if !ok {
			return ""
		}
		return of(box)
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return value(e.ObjectOld) != value(e.ObjectNew)
	}}
}
