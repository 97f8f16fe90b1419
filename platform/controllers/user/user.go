// Package user contains the reconciler of Users. For each User it applies a Namespace, and in this Namespace a
// ServiceAccount and a RoleBinding. The RoleBinding permits the ServiceAccount to work with Devboxes.
//
// Until the User's status contains the name of the Namespace, a reconcile applies only the Namespace. The name is written
// to the status only if the Namespace belongs to the User. So nothing is ever written into a Namespace of another owner.
// All objects are written by Server-Side Apply and not by create, so two concurrent reconciles of one User both succeed.
//
// The License reconciler (package license) owns one label and one annotation of the Namespace. The License reconciler
// also waits until the User's status contains the name of the Namespace.
package user

import (
	"cmp"
	"strings"

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

// RBAC rules of the reconciler, for config/rbac/role.yaml. The reconciler binds the ClusterRole Role, which
// grants rights that the reconciler does not have. This needs the verb bind for Role, but not escalate.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=bind,resourceNames=coapply-devbox-editor
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	// OwnerLabel is a label on every object that belongs to a User; its value is the User's name.
	OwnerLabel = "platform.coapply.dev/owner"
	// DisplayNameAnnotation is an annotation of a User's Namespace; its value is spec.displayName.
	DisplayNameAnnotation = "platform.coapply.dev/display-name"
	// Account is the name of the ServiceAccount in a User's Namespace, and of the RoleBinding that binds this ServiceAccount to Role.
	Account = "devbox-user"
	// Role is the name of the ClusterRole (in config/rbac) to which Account is bound in a User's Namespace.
	Role = "coapply-devbox-editor"

	kind   = "User"
	prefix = "user-"
)

// NamespaceOf returns the name of the Namespace of the User with this name.
func NamespaceOf(name string) string { return prefix + name }

// Of returns the name of the User to which an object belongs according to its name and namespace. For the Namespace
// user-NAME and for every object in this Namespace, Of returns NAME. For other objects it returns "".
func Of(object client.Object) string {
	if name, ok := strings.CutPrefix(cmp.Or(object.GetNamespace(), object.GetName()), prefix); ok {
		return name
	}
	return ""
}

// Owns reports whether an object belongs to a User. The object must be the Namespace user-NAME or in this Namespace. Its
// controller must be the User NAME, or the object must have lost its owner reference to this User (see setup.Orphaned).
func Owns(object client.Object) bool {
	return setup.Belongs(object, kind, Of(object), OwnerLabel)
}

// Setup adds the reconciler of Users to a manager.
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

// policy returns the conflict policy of the reconciler. It takes the owner label of the Namespace and the
// subjects of the RoleBinding from other field managers (Force). For other fields it rejects the conflict.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(`.metadata.labels["`+OwnerLabel+`"]`, apply.Force).
		At(".subjects", apply.Force)
}

// Named returns the reconcile key of the User that Of returns for an object.
func Named(object client.Object) types.NamespacedName { return types.NamespacedName{Name: Of(object)} }

// dependsOn returns the only field of a User's status that emit reads. A change of this field starts a reconcile.
func dependsOn(user *v1alpha1.User) any { return user.Status.Namespace }
