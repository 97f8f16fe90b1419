package user

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// Setup adds the reconciler of Users.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	rt := options.Runtime.Within(func(namespace *corev1.Namespace) bool { return Owns(namespace) })
	toUser := setup.Enqueue(Named)
	named := builder.WithPredicates(predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetName() == Account }))
	return coapply.For(rt, fieldmanagers.User, emit).
		Named("user").
		Watches(&corev1.Namespace{}, toUser).
		Watches(&corev1.ServiceAccount{}, toUser, named).
		Watches(&rbacv1.RoleBinding{}, toUser, named).
		OnConflict(policy()).
		Belongs(func(_ *v1alpha1.User, child client.Object) bool { return Owns(child) }).
		DependsOn(dependsOn).
		Status(status{mgr.GetClient()}.report).
		Complete()
}

// policy forces the owner label of the Namespace and the subjects of the RoleBinding, and
// rejects other conflicts.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(`.metadata.labels["`+OwnerLabel+`"]`, apply.Force).
		At(".subjects", apply.Force)
}

// Named returns the User whose Namespace an object is, or is in, by the Namespace's name.
func Named(object client.Object) types.NamespacedName { return types.NamespacedName{Name: Of(object)} }

// dependsOn returns the field of its status from which a User emits: the name of its Namespace.
func dependsOn(user *v1alpha1.User) any { return user.Status.Namespace }
