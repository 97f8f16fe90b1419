package user

import (
	"cmp"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/controllers/setup"
)

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
