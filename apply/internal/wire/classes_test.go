package wire

import (
	"errors"
	"io"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func answerOf(code int32, reason metav1.StatusReason, message string, causes ...metav1.StatusCause) *apierrors.StatusError {
	status := metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}
	if len(causes) > 0 {
		status.Details = &metav1.StatusDetails{Name: "web", Causes: causes}
	}
	return &apierrors.StatusError{ErrStatus: status}
}

func TestConflictCauses(t *testing.T) {
	owned := metav1.StatusCause{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas"}
	for want, errs := range map[int][]error{
		0: {nil, errors.New("another"), answerOf(409, metav1.StatusReasonConflict, ""), answerOf(422, metav1.StatusReasonInvalid, "", owned)},
		1: {answerOf(409, metav1.StatusReasonConflict, "", owned, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid})},
	} {
		for _, err := range errs {
			if got := ConflictCauses(err); len(got) != want {
				t.Errorf("%v: %v, want %d", err, got, want)
			}
		}
	}
}

func TestIsImmutableUID(t *testing.T) {
	uid, name := metav1.StatusCause{Field: "metadata.uid"}, metav1.StatusCause{Field: "metadata.name"}
	for want, errs := range map[bool][]error{
		false: {
			nil, answerOf(422, metav1.StatusReasonInvalid, ""), answerOf(422, metav1.StatusReasonInvalid, "", name),
			answerOf(409, metav1.StatusReasonConflict, "", uid),
		},
		true: {answerOf(422, metav1.StatusReasonInvalid, "", name, uid)},
	} {
		for _, err := range errs {
			if got := IsImmutableUID(err); got != want {
				t.Errorf("%v: %v", err, got)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for want, errs := range map[bool][]error{
		false: {nil, errors.New("another"), apierrors.NewConflict(schema.GroupResource{}, "web", errors.New("modified"))},
		true: {
			io.EOF, errors.New("http2: client connection lost"), apierrors.NewAlreadyExists(schema.GroupResource{}, "web"),
			errors.New("couldn't get version/kind; json parse error: unexpected end of JSON input"),
		},
	} {
		for _, err := range errs {
			if _, got := RetryAfter(err); got != want {
				t.Errorf("%v: %v", err, got)
			}
		}
	}
}

func TestRefusedBy500(t *testing.T) {
	for want, status := range map[string]metav1.Status{
		"etcdserver: request is too large": {Code: http.StatusInternalServerError, Message: "etcdserver: request is too large"},
		"":                                 {Code: http.StatusServiceUnavailable, Message: "etcdserver: request is too large"},
	} {
		if got := RefusedBy500(status); got != want {
			t.Errorf("%v: %q", status, got)
		}
	}
}

func TestIsAbsent(t *testing.T) {
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
	notServed := apierrors.NewGenericServerResponse(404, "get", schema.GroupResource{Resource: "deployments"}, "web", "404 page not found", 0, true)
	withoutDetails := answerOf(404, metav1.StatusReasonNotFound, "")
	if !IsAbsent(missing, "web") || IsAbsent(missing, "shop") || IsAbsent(notServed, "web") || IsAbsent(withoutDetails, "web") {
		t.Error(IsAbsent(missing, "web"), IsAbsent(missing, "shop"), IsAbsent(notServed, "web"), IsAbsent(withoutDetails, "web"))
	}
}
