// Package user reconciles a User: its Namespace, and in it a ServiceAccount that may work with
// Devboxes.
//
// The Namespace comes first. Objects in it are emitted once the status says that the Namespace
// exists and is the User's, so that nothing is ever put into someone else's. Everything is
// applied and nothing is created by name, so two reconciles that race both succeed.
//
// The License owns the quota label and annotation of the Namespace (package license). It waits
// until the User's status names the Namespace.
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

// What the reconciler may do, for config/rbac/role.yaml. To bind a role whose rights
// it does not have itself it needs bind on exactly that one; escalate would be more.
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
	// OwnerLabel is on everything that belongs to a User; its value is the User's name.
	OwnerLabel = "platform.coapply.dev/owner"
	// DisplayNameAnnotation is on the Namespace; its value is spec.displayName.
	DisplayNameAnnotation = "platform.coapply.dev/display-name"
	// Account is the name of the ServiceAccount in a User's Namespace, and of the
	// RoleBinding that gives it its rights.
	Account = "devbox-user"
	// Role is the ClusterRole that Account has in the Namespace (config/rbac).
	Role = "coapply-devbox-editor"

	kind   = "User"
	prefix = "user-"
)

// NamespaceOf returns the name of a User's Namespace.
func NamespaceOf(name string) string { return prefix + name }

// Of returns the name of the User whose Namespace an object is, or is in, by the Namespace's
// name; "" if there is none.
func Of(object client.Object) string {
	if name, ok := strings.CutPrefix(cmp.Or(object.GetNamespace(), object.GetName()), prefix); ok {
		return name
	}
	return ""
}

// Owns reports whether an object belongs to the User in its Namespace's name: the Namespace
// itself, or what the User has put into it.
func Owns(object client.Object) bool {
	return setup.Belongs(object, kind, Of(object), OwnerLabel)
}

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
