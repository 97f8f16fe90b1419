package arms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/compare/history"
)

func TestClassify(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	stale := apierrors.NewConflict(resource, "a", errors.New("the object has been modified"))
	owned := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.k"}}, "conflict")
	cut := func(op string, err error) error { return &url.Error{Op: op, URL: "https://server", Err: err} }
	object := apply.ObjectRef{}
	for _, c := range []struct {
		reason string
		err    error
		want   history.Outcome
	}{
		{"no error", nil, history.Landed},
		{"a stale write", stale, history.GaveUp},
		{"a stale write, told by an arm", fmt.Errorf("the last: %w", stale), history.GaveUp},
		{"the budget ran out", &update.ExhaustedError{Attempts: 4, Err: stale}, history.GaveUp},
		{"the context ended after an answer that was a stale write", &update.InterruptedError{Context: context.DeadlineExceeded, Err: stale}, history.GaveUp},
		{"every bounded attempt was contended", &apply.ContendedError{Err: stale}, history.GaveUp},
		{"an ownership conflict", owned, history.Rejected},
		{"an ownership conflict, by the applier", &apply.ConflictError{Err: owned}, history.Rejected},
		{"the deadline passed while a write was under way", cut("Put", context.DeadlineExceeded), history.Unknown},
		{"the deadline passed while the answer was read", fmt.Errorf("reading the body: %w", context.DeadlineExceeded), history.Unknown},
		{"the connection was lost under a write", cut("Patch", syscall.ECONNRESET), history.Unknown},
		{"the connection was lost under an apply", &apply.RetryableError{Object: object, Err: cut("Patch", io.EOF)}, history.Unknown},
		{"the answer broke off", io.ErrUnexpectedEOF, history.Unknown},
		{"the server timed out", apierrors.NewTimeoutError("timeout", 1), history.Unknown},
		{"the server's store timed out", apierrors.NewInternalError(errors.New("etcdserver: request timed out")), history.Unknown},
		{"the deadline passed under a read", cut("Get", context.DeadlineExceeded), history.Failed},
		{"the deadline passed under a read of the applier, which may follow a write", &apply.RetryableError{Object: object, Err: cut("Get", context.DeadlineExceeded)}, history.Unknown},
		{"the deadline passed at the barrier", unsent(context.DeadlineExceeded), history.Failed},
		{"another was faster to create", apierrors.NewAlreadyExists(resource, "a"), history.Failed},
		{"the object is absent", apierrors.NewNotFound(resource, "a"), history.Failed},
		{"the server has enough", apierrors.NewTooManyRequests("slow down", 1), history.Failed},
		{"the object is invalid", apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "PUT", resource, "a", "invalid", 0, true), history.Failed},
		{"a closure's own error", errors.New("no such field"), history.Failed},
	} {
		if got := Classify(c.err); got != c.want {
			t.Errorf("%s: %s, want %s", c.reason, got, c.want)
		}
	}
}
