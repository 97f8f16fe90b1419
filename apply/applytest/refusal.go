package applytest

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Invalid is the 422 of validation, for a field such as spec.replicas and what is
// wrong with it: apply.ErrRefused.
func Invalid(field, message string) Answer {
	a := fromServer("Invalid", withABody, func(made call) *apierrors.StatusError {
		return invalid(made, field, message)
	})
	if field == "" || message == "" {
		a.invalid = fmt.Errorf("Invalid(%q, %q): a field and what is wrong with it are needed", field, message)
	}
	return a
}

func invalid(made call, field, message string) *apierrors.StatusError {
	err := apierrors.NewInvalid(made.kind.GroupKind(), made.Name, nil)
	err.ErrStatus.Message += ": " + field + ": " + message
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeFieldValueInvalid, Message: message, Field: field,
	}}
	return err
}

// UnknownField is the 500 with an empty reason of an apply that sets a field that the schema
// does not have, such as .spec.nothing: apply.ErrRefused. The answers to a wrong type and a
// duplicate list key look the same. Whether the apply sets the field is not checked.
func UnknownField(field string) Answer {
	name := strings.TrimPrefix(field, ".")
	a := fromServer("UnknownField", []Verb{VerbApply}, func(made call) *apierrors.StatusError {
		return withoutReason(fmt.Sprintf("failed to create typed patch object (%s/%s; %s, Kind=%s): .%s: field not declared in schema",
			made.Namespace, made.Name, made.kind.GroupVersion(), made.kind.Kind, name))
	})
	if name == "" {
		a.invalid = fmt.Errorf("UnknownField(%q): a field is needed, such as .spec.nothing", field)
	}
	return a
}

// TooLarge is the 413 of a body above 3 MiB: apply.ErrRefused.
func TooLarge() Answer {
	return fromServer("TooLarge", withABody, func(call) *apierrors.StatusError {
		return apierrors.NewRequestEntityTooLargeError("limit is 3145728")
	})
}

// TooLargeForStorage is the 500 with an empty reason of an object above 1.5 MiB, which etcd
// refuses: apply.ErrRefused.
func TooLargeForStorage() Answer {
	return fromServer("TooLargeForStorage", withABody, func(call) *apierrors.StatusError {
		return withoutReason("etcdserver: request is too large")
	})
}

func withoutReason(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}}
}

// Forbidden is the 403 of missing permission: apply.ErrRefused.
func Forbidden() Answer {
	return fromServer("Forbidden", nil, func(made call) *apierrors.StatusError {
		return apierrors.NewForbidden(made.resource, made.Name,
			fmt.Errorf("user cannot %s resource %q in the namespace %q", made.Verb, made.resource.Resource, made.Namespace))
	})
}

// NamespaceTerminating is the 403 of a creation, also by apply, in a namespace that is being
// deleted: apply.ErrRefused.
func NamespaceTerminating() Answer {
	return fromServer("NamespaceTerminating", creating, func(made call) *apierrors.StatusError {
		err := apierrors.NewForbidden(made.resource, made.Name,
			fmt.Errorf("unable to create new content in namespace %s because it is being terminated", made.Namespace))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{
			Type:    "NamespaceTerminating",
			Message: fmt.Sprintf("namespace %s is being terminated", made.Namespace), Field: "metadata.namespace",
		}}
		return err
	})
}

// NotFound is the 404 for an absent object. For a creation, also by apply, it is the 404 for an
// absent namespace. The result is apply.ErrRefused; if the read for MustExist returns the 404,
// the result is the outcome Absent. After a 404 for a write, the library reads the object,
// because such a 404 does not prove that the object is absent.
func NotFound() Answer {
	return fromServer("NotFound", nil, func(made call) *apierrors.StatusError {
		if made.Subresource == "" && (made.Verb == VerbCreate || made.Verb == VerbApply) {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, made.Namespace)
		}
		return apierrors.NewNotFound(made.resource, made.Name)
	})
}
