package wire

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Named returns an unstructured object that has only a kind, a namespace and a name.
func Named(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

// CheckReference returns an error if an object cannot be identified by this kind and name: if a part is missing, if the
// name or namespace cannot be part of a URL, or if CheckScope returns an error.
func CheckReference(c client.Client, kind schema.GroupVersionKind, name types.NamespacedName) error {
	var lacks []string
	for _, part := range []struct{ name, value string }{
		{"version", kind.Version}, {"kind", kind.Kind}, {"name", name.Name},
	} {
		if part.value == "" {
			lacks = append(lacks, part.name)
		}
	}
	switch {
	case len(lacks) > 0:
		return fmt.Errorf("the reference to the object lacks its %s", strings.Join(lacks, " and "))
	case len(content.IsPathSegmentName(name.Name)) > 0 || len(content.IsPathSegmentName(name.Namespace)) > 0:
		return fmt.Errorf("name %q in namespace %q cannot be part of a URL", name.Name, name.Namespace)
	}
	return CheckScope(c, kind, name)
}

// CheckScope returns an error if a namespaced object has no namespace, or a cluster-scoped object has one. If the
// client does not know the kind, it returns nil: the request for the object will fail.
func CheckScope(c client.Client, kind schema.GroupVersionKind, name types.NamespacedName) error {
	namespaced, err := c.IsObjectNamespaced(Named(kind, name))
	switch {
	case namespaced && name.Namespace == "":
		return errors.New("a namespace is needed: " + kind.Kind + " is namespaced")
	case err == nil && !namespaced && name.Namespace != "":
		return fmt.Errorf("the object must not have a namespace (%q): %s is not namespaced", name.Namespace, kind.Kind)
	}
	return nil
}

// IsAbsent reports whether an error is the 404 that says that the object with this name does not exist. It returns
// false for the other 404s: a namespace or subresource does not exist, or a kind or version is not served. (In the
// last case the client makes the Status, and not the API server.)
func IsAbsent(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// OneLine returns the message of an error on one line. A message of the API server may have one line for each problem.
func OneLine(err error) string {
	if err == nil {
		return "no cause given"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
