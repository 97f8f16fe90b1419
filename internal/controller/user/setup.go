package user

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/setup"
)

// Setup adds the reconciler of Users.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	applier, updater, err := setup.Writers(mgr, setup.Writer{
		FieldManager: fieldmanagers.User,
		Policy:       policy(),
		Within:       func(namespace *corev1.Namespace) bool { return Owns(namespace) },
	}, options)
	if err != nil {
		return err
	}
	toUser := handler.EnqueueRequestsFromMapFunc(requests)
	named := builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == Account }))
	controller := ctrl.NewControllerManagedBy(mgr).
		For(&v1alpha1.User{}, builder.WithPredicates(worthReconciling())).
		Watches(&corev1.Namespace{}, toUser).
		Watches(&corev1.ServiceAccount{}, toUser, named).
		Watches(&rbacv1.RoleBinding{}, toUser, named)
	return setup.Complete(controller, "user", reconciler.Config[*v1alpha1.User]{
		Client:  mgr.GetClient(),
		Applier: applier,
		Updater: updater,
		Emit:    emit,
		Belongs: func(_ *v1alpha1.User, child client.Object) bool { return Owns(child) },
		Status:  status{mgr.GetClient()}.report,
		Events:  mgr.GetEventRecorder(fieldmanagers.User),
	})
}

// policy takes back who the Namespace belongs to and who may work in it; the rest is
// told.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(`.metadata.labels["`+OwnerLabel+`"]`, apply.Force).
		At(".subjects", apply.Force)
}

// requests goes by the name and not by the owner: that someone else's Namespace goes
// is news, too.
func requests(_ context.Context, object client.Object) []reconcile.Request {
	name := Of(object)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: name}}}
}

// worthReconciling lets through a User's spec, pause, that its Namespace is there or no
// more, and that something of its status was taken.
func worthReconciling() predicate.Predicate {
	return coapply.Relevant(fieldmanagers.User, func(user *v1alpha1.User) any { return user.Status.Namespace })
}
