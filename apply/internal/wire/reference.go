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
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Named returns an unstructured object that has only a kind, a namespace and a name.
func Named(kind schema.GroupVersionKind, name types.NamespacedName) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

// CheckReference returns an error if a version, kind or name is missing, or if the name or namespace cannot be part of
// a URL. It also returns the error of CheckScope.
func CheckReference(c client.Client, kind schema.GroupVersionKind, name types.NamespacedName) error {
	var lacks []string
	for _, part := range []struct{ name, value string }{{"version", kind.Version}, {"kind", kind.Kind}, {"name", name.Name}} {
		if part.value == "" {
			lacks = append(lacks, part.name)
		}
	}
	switch {
	case len(lacks) > 0:
		return fmt.Errorf("the reference to the object has no %s", strings.Join(lacks, " and "))
	case len(content.IsPathSegmentName(name.Name)) > 0 || len(content.IsPathSegmentName(name.Namespace)) > 0:
		return fmt.Errorf("name %q in namespace %q cannot be part of a URL: neither may be . or .., or contain / or %%", name.Name, name.Namespace)
	}
	return CheckScope(c, kind, name)
}

// CheckScope returns an error if a namespaced object lacks a namespace, or if a cluster-scoped object has a namespace.
// It returns nil for a kind that the client does not know: the request for the object will fail.
func CheckScope(c client.Client, kind schema.GroupVersionKind, name types.NamespacedName) error {
	namespaced, err := apiutil.IsGVKNamespaced(kind, c.RESTMapper())
	switch {
	case namespaced && name.Namespace == "":
		return errors.New("a namespace is needed: " + kind.Kind + " is namespaced")
	case err == nil && !namespaced && name.Namespace != "":
		return fmt.Errorf("the object must not have a namespace (%q): %s is not namespaced", name.Namespace, kind.Kind)
	}
	return nil
}

// IsAbsent reports whether an error is a 404 because the object with the given name does not exist. It returns false
// for other causes of a 404: a missing namespace or subresource, or a kind or version that is not served. (For a kind
// or version that is not served, the client itself creates the Status.)
func IsAbsent(err error, name string) bool {
	return apierrors.IsNotFound(err) && statusIn(err).Details.Name == name &&
		!apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// OneLine returns the message of an error on one line. A message of the API server may have one line for each problem.
func OneLine(err error) string {
	if err == nil {
		return "no cause given"
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
