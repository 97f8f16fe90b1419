package applytest

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"coapply.dev/apply"
)

// Class says how a request was answered, in the words of apply.ResultOf where one answer
// suffices for them.
type Class string

const (
	// ClassSuccess is a request that the server accepted.
	ClassSuccess Class = "Success"
	// ClassConflict is an ownership conflict.
	ClassConflict Class = "Conflict"
	// ClassStaleWrite is a 409 without causes: an old resourceVersion, or the uid of an object
	// that is gone, between which apply decides by a live read.
	ClassStaleWrite Class = "StaleWrite"
	// ClassUIDMismatch is the 422 for the uid of an earlier object.
	ClassUIDMismatch Class = "UIDMismatch"
	// ClassRetryable is a request that may succeed later: 429, 503, a timeout of the server.
	ClassRetryable Class = "Retryable"
	// ClassRefused is a request that is refused each time: 403, 422, an unknown field.
	ClassRefused Class = "Refused"
	// ClassNotFound is a 404, which for a read is no failure. For an apply, whose namespace
	// does not exist then, ResultOf returns Refused.
	ClassNotFound Class = "NotFound"
	// ClassNoAnswer is a request that broke or whose context ended. ResultOf returns Retryable
	// or Cancelled.
	ClassNoAnswer Class = "NoAnswer"
)

var classes = []Class{
	ClassSuccess, ClassConflict, ClassStaleWrite, ClassUIDMismatch, ClassRetryable, ClassRefused, ClassNotFound, ClassNoAnswer,
}

// classOf returns the class of an answer of the server.
func classOf(err error) Class {
	switch {
	case apierrors.IsNotFound(err):
		return ClassNotFound
	case apply.IsOwnershipConflict(err):
		return ClassConflict
	}
	return Class(apply.ResultOf(apply.Classify(context.Background(), apply.ObjectRef{}, err)))
}

// statuses decodes the Status of a failure, as JSON or protobuf.
var statuses = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// failureOf returns the error that client-go makes of an answer. An answer that is no Status,
// such as a proxy's, is classified by its code.
func failureOf(method string, code int, body []byte) error {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Status"}
	decoded, _, _ := statuses.Decode(body, &kind, nil)
	if status, ok := decoded.(*metav1.Status); ok && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return apierrors.NewGenericServerResponse(code, method, schema.GroupResource{}, "", "", 0, true)
}
