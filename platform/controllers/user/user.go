// Package user reconciles a User: it applies the User's Namespace, and in it a ServiceAccount
// that may work with Devboxes.
//
// The Namespace is applied first. Objects in it are emitted once the User's status names it, so
// that no object is ever put into a Namespace of another owner. All objects are written by
// Server-Side Apply, never by create, so two concurrent reconciles both succeed.
//
// The License owns the quota label and annotation of the Namespace (package license). The License
// reconciler waits until the User's status names the Namespace.
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

// RBAC rules of the reconciler, for config/rbac/role.yaml. It binds a ClusterRole with rights that
// it does not have itself. That needs the verb bind on this ClusterRole, not the wider escalate.
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
	// Account is the name of the ServiceAccount in a User's Namespace, and of the RoleBinding
	// that binds this ServiceAccount to Role.
	Account = "devbox-user"
	// Role is the name of the ClusterRole (in config/rbac) to which Account is bound in a User's Namespace.
	Role = "coapply-devbox-editor"

	kind   = "User"
	prefix = "user-"
)

// NamespaceOf returns the name of the Namespace of the User with this name.
func NamespaceOf(name string) string { return prefix + name }

// Of returns NAME, the name of a User, for an object in the Namespace user-NAME and for a
// cluster-scoped object called user-NAME, such as this Namespace. For any other object it returns "".
func Of(object client.Object) string {
	if name, ok := strings.CutPrefix(cmp.Or(object.GetNamespace(), object.GetName()), prefix); ok {
		return name
	}
	return ""
}

// Owns reports whether an object belongs to the User whose name Of returns: whether it is the
// User's Namespace, or an object in it that the User reconciler has applied.
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

// policy returns the policy for conflicts: Force for the owner label of the Namespace and the
// subjects of the RoleBinding, Reject for every other field.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(`.metadata.labels["`+OwnerLabel+`"]`, apply.Force).
		At(".subjects", apply.Force)
}

// Named returns the key of the User whose name Of returns for an object.
func Named(object client.Object) types.NamespacedName { return types.NamespacedName{Name: Of(object)} }

// dependsOn returns the only status field that emit reads. A change of this field starts a reconcile.
func dependsOn(user *v1alpha1.User) any { return user.Status.Namespace }
