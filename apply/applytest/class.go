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

// Class says how a request was answered, in the words of apply.ResultOf as far as one answer
// shows it.
type Class string

const (
	// ClassSuccess is what the server accepted.
	ClassSuccess Class = "Success"
	// ClassConflict is an ownership conflict.
	ClassConflict Class = "Conflict"
	// ClassStaleWrite is a 409 without causes: an old resourceVersion, or the uid of
	// an object that is gone, which apply tells apart by a live read.
	ClassStaleWrite Class = "StaleWrite"
	// ClassUIDMismatch is the 422 that the uid of an earlier object gets.
	ClassUIDMismatch Class = "UIDMismatch"
	// ClassRetryable is what may succeed later: 429, 503, a timeout of the server.
	ClassRetryable Class = "Retryable"
	// ClassRefused is what this request gets each time: 403, 422, an unknown field.
	ClassRefused Class = "Refused"
	// ClassNotFound is a 404, which for a read is no failure. An apply that gets one,
	// as its namespace does not exist, is refused in the words of apply.
	ClassNotFound Class = "NotFound"
	// ClassNoAnswer is a request that broke or whose context ended. In the words of
	// apply it is retryable or cancelled.
	ClassNoAnswer Class = "NoAnswer"
)

var classes = []Class{
	ClassSuccess, ClassConflict, ClassStaleWrite, ClassUIDMismatch, ClassRetryable, ClassRefused, ClassNotFound, ClassNoAnswer,
}

// classOf names an answer of the server.
func classOf(err error) Class {
	switch {
	case apierrors.IsNotFound(err):
		return ClassNotFound
	case apply.IsOwnershipConflict(err):
		return ClassConflict
	}
	return Class(apply.ResultOf(apply.Classify(context.Background(), apply.ObjectRef{}, err)))
}

// statuses decodes what an API server says of a failure, as JSON or protobuf.
var statuses = func() runtime.Decoder {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).UniversalDeserializer()
}()

// failureOf is the error that client-go makes of an answer. What is no Status, as
// from a proxy, is known by its code.
func failureOf(method string, code int, body []byte) error {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "Status"}
	decoded, _, err := statuses.Decode(body, &kind, nil)
	if status, ok := decoded.(*metav1.Status); err == nil && ok && status.Status == metav1.StatusFailure {
		return apierrors.FromObject(status)
	}
	return apierrors.NewGenericServerResponse(code, method, schema.GroupResource{}, "", "", 0, true)
}
