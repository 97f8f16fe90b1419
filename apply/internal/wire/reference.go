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

// Named gives an object that has nothing but its name.
func Named(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

// CheckReference refuses what names no object of the server.
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

// CheckScope holds that an object has a namespace exactly if its kind is namespaced. Of
// a kind that the client does not know the request itself tells.
func CheckScope(c client.Client, kind schema.GroupVersionKind, name types.NamespacedName) error {
	namespaced, err := c.IsObjectNamespaced(Named(kind, name))
	switch {
	case namespaced && name.Namespace == "":
		return errors.New("a namespace is needed: " + kind.Kind + " is namespaced")
	case err == nil && !namespaced && name.Namespace != "":
		return fmt.Errorf("it has a namespace, %q: %s is not namespaced", name.Namespace, kind.Kind)
	}
	return nil
}

// IsAbsent tells a missing object from a missing namespace or subresource, whose 404 names
// something else, and from a kind or version that is not served: that 404 is no Status of
// the server's, and the client makes one up.
func IsAbsent(err error, name string) bool {
	var status apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &status) {
		return false
	}
	details := status.Status().Details
	return details != nil && details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// OneLine is for messages of the server, which put several findings on lines of
// their own.
func OneLine(err error) string {
	if err == nil {
		return "no cause given"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
