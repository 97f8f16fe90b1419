// Package answers has what an API server answers, for the tests of apply and of its packages.
package answers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// Answer is what the API server makes of a request.
type Answer func(*http.Request) (*http.Response, error)

// Give answers with an object.
func Give(status int, object any) Answer {
	return func(request *http.Request) (*http.Response, error) {
		body, err := json.Marshal(object)
		return Respond(request, status, http.Header{"Content-Type": {"application/json"}}, body), err
	}
}

// OK answers with an object that is there.
func OK(object any) Answer { return Give(http.StatusOK, object) }

// Created answers with an object that is new.
func Created(object any) Answer { return Give(http.StatusCreated, object) }

// Fail answers as the API server writes errors: the Status as body, and what it
// says of waiting as a header too.
func Fail(err *apierrors.StatusError) Answer {
	return func(request *http.Request) (*http.Response, error) {
		status := err.Status()
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		response, broken := Give(int(status.Code), status)(request)
		if d := status.Details; d != nil && d.RetryAfterSeconds > 0 {
			response.Header.Set("Retry-After", strconv.Itoa(int(d.RetryAfterSeconds)))
		}
		return response, broken
	}
}

// Breaks gives no answer.
func Breaks(err error) Answer {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// Deployments is what the server calls deployments.
var Deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

// NotFound is for the deployment web.
func NotFound() Answer { return Fail(apierrors.NewNotFound(Deployments, "web")) }

// Stale is the 409 without causes: the resourceVersion is old, or the uid belongs
// to no object.
func Stale() Answer {
	return Fail(apierrors.NewConflict(Deployments, "web", errors.New("the object has been modified")))
}

// OtherUID is what a recreated object answers to the uid of the earlier one.
func OtherUID() Answer {
	invalid := field.Invalid(field.NewPath("metadata", "uid"), "uid-1", "field is immutable")
	return Fail(apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{invalid}))
}

// Invalid is how the server refuses an object that lacks something.
func Invalid(message string) Answer {
	required := field.Required(field.NewPath("spec", "template"), message)
	return Fail(apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{required}))
}

// UnknownReason is the 500 with an empty reason.
func UnknownReason(message string) Answer {
	return Fail(&apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: message,
	}})
}

// ConflictCause is one of an ownership conflict.
type ConflictCause struct{ path, manager string }

// Cause is one conflict: the path as the server writes it and the other manager.
func Cause(path, manager string) ConflictCause { return ConflictCause{path, manager} }

// Conflicts with the owners that Web has, and with one whom the server made up.
var (
	HPAReplicas     = Cause(".spec.replicas", `"hpa" with subresource "scale" using apps/v1 at 2000-01-01T00:00:00Z`)
	PhantomReplicas = Cause(".spec.replicas", `"before-first-apply" using apps/v1`)
	KubectlPause    = Cause(".spec.paused", `"kubectl"`)
)

// Conflict is an ownership conflict with these causes.
func Conflict(causes ...ConflictCause) Answer {
	var all []metav1.StatusCause
	var message strings.Builder
	fmt.Fprintf(&message, "Apply failed with %d conflicts:", len(causes))
	for _, c := range causes {
		all = append(all, metav1.StatusCause{
			Type: metav1.CauseTypeFieldManagerConflict, Field: c.path, Message: "conflict with " + c.manager,
		})
		fmt.Fprintf(&message, " conflicts with %s:\n- %s", c.manager, c.path)
	}
	return Fail(apierrors.NewApplyConflict(all, message.String()))
}

// Web is the deployment at a uid and resourceVersion. hpa owns 5 replicas of it,
// and kubectl that it is paused.
func Web(uid, resourceVersion string) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: types.UID(uid), ResourceVersion: resourceVersion,
			ManagedFields: []metav1.ManagedFieldsEntry{
				Entry("hpa", "Update", "scale", `{"f:spec":{"f:replicas":{}}}`),
				Entry("kubectl", "Apply", "", `{"f:spec":{"f:paused":{}}}`),
			},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](5), Paused: true},
	}
}

// Entry is one of managed fields.
func Entry(name string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: name, Operation: operation, Subresource: subresource, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// Respond is a response with a body.
func Respond(request *http.Request, status int, header http.Header, body []byte) *http.Response {
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}
