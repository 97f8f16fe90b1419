package apply_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
	"coapply.dev/fieldowners"
)

var (
	errOwnership = apierrors.NewApplyConflict([]metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: `conflict with "hpa"`},
	}, "Apply failed with 1 conflict")
	errStale = apierrors.NewConflict(deployments, "web", errors.New("modified"))
)

func webRef() apply.ObjectRef {
	ref := apply.ObjectRef{UID: "uid-1"}
	ref.Kind, ref.Namespace, ref.Name = "Deployment", "shop", "web"
	return ref
}

func TestClassify(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		class string // of ResultOf; the errors themselves are in failures_test.go
		after time.Duration
	}{
		"nothing":            {nil, "Success", 0},
		"ownership conflict": {errOwnership, "Error", 0}, // is left alone: it takes a policy
		"stale write":        {errStale, "StaleWrite", 0},
		"wrapped":            {fmt.Errorf("writing: %w", errStale), "StaleWrite", 0},
		"busy":               {apierrors.NewTooManyRequests("busy", 3), "Retryable", 3 * time.Second},
		"refused":            {apierrors.NewBadRequest("no"), "Refused", 0},
		"unknown field":      {status500("failed to create typed patch object (a/b; apps/v1, Kind=Deployment): .spec.nope: field not declared in schema"), "Refused", 0},
		"too large for etcd": {status500("etcdserver: request is too large"), "Refused", 0},
		"too large for gRPC": {status500("rpc error: code = ResourceExhausted desc = trying to send message larger than max (2103 vs. 2097)"), "Refused", 0},
		"etcd is dying":      {status500("rpc error: code = Unavailable desc = error reading from server: EOF"), "Retryable", 0},
		"etcd is busy":       {status500("etcdserver: too many requests"), "Retryable", 0},
		"etcd's leader":      {status500("etcdserver: leader changed"), "Retryable", 0},
		"500 with a reason":  {apierrors.NewInternalError(errors.New("etcdserver: request is too large, says a webhook")), "Retryable", 0},
		"gone":               {apierrors.NewResourceExpired("old"), "Refused", 0},
		"reset":              {&url.Error{Op: "Patch", URL: "https://x", Err: syscall.ECONNRESET}, "Retryable", 0},
		"end of file":        {fmt.Errorf("reading: %w", io.ErrUnexpectedEOF), "Retryable", 0},
		"client's time-out":  {&url.Error{Op: "Patch", URL: "https://x", Err: context.DeadlineExceeded}, "Retryable", 0},
		"a page, with a 200": {errors.New("couldn't get version/kind; json parse error: invalid character '<' looking for beginning of value"), "Retryable", 0},
		"unknown":            {errors.New("no matches for kind"), "Refused", 0},
		"already classified": {&apply.UIDMismatchError{Err: errStale}, "UIDMismatch", 0},
		"a lane within it":   {fmt.Errorf("entering: %w", lanes.ErrReentry), "Reentry", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := apply.Classify(t.Context(), webRef(), test.err)
			if class := apply.ResultOf(got); class != test.class {
				t.Errorf("%v is %s, want %s", got, class, test.class)
			}
			if !errors.Is(got, test.err) {
				t.Errorf("%v does not unwrap to %v", got, test.err)
			}
			retryable := (*apply.RetryableError)(nil)
			if errors.As(got, &retryable) && retryable.After != test.after {
				t.Errorf("after %v, want %v", retryable.After, test.after)
			}
			if again := apply.Classify(t.Context(), webRef(), got); again != got { //nolint:errorlint // the very same, not one that wraps it
				t.Errorf("classified twice: %v", again)
			}
		})
	}
}

// status500 has no reason, as the API server passes on what it did not expect.
func status500(message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: 500, Message: message}}
}

// Once the caller's context has ended, an error that says so is left alone.
func TestClassifyAfterTheEnd(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err := &url.Error{Op: "Patch", URL: "https://x", Err: context.Canceled}
	if got := apply.Classify(ended, webRef(), err); !errors.Is(got, err) || apply.ResultOf(got) != "Cancelled" {
		t.Errorf("got %v, want the error as it is", got)
	}
}

// A 409 is one or the other, and neither when it is wrapped by an error of another
// class, which no repetition of the same write heals.
func TestOwnershipConflictOrStaleWrite(t *testing.T) {
	otherCause := errOwnership.Status()
	otherCause.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeFieldValueInvalid}}}
	for name, test := range map[string]struct {
		err              error
		ownership, stale bool
	}{
		"nil":                     {nil, false, false},
		"any":                     {errors.New("any"), false, false},
		"not found":               {apierrors.NewNotFound(deployments, "web"), false, false},
		"already exists":          {apierrors.NewAlreadyExists(deployments, "web"), false, false},
		"ownership":               {errOwnership, true, false},
		"ownership, wrapped":      {fmt.Errorf("applying: %w", errOwnership), true, false},
		"ownership, classified":   {&apply.ConflictError{Err: errOwnership}, true, false},
		"conflict without answer": {&apply.ConflictError{}, true, false},
		"stale":                   {errStale, false, true},
		"stale, wrapped":          {fmt.Errorf("writing: %w", errStale), false, true},
		"stale, classified":       {&apply.StaleWriteError{Err: errStale}, false, true},
		"stale by a conflict":     {&apply.StaleWriteError{Err: errOwnership}, false, true},
		"409 with other causes":   {&apierrors.StatusError{ErrStatus: otherCause}, false, true},
		"409 without details":     {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: "Conflict"}}, false, true},
		"uid mismatch by 409":     {&apply.UIDMismatchError{Err: errStale}, false, false},
		"contended":               {&apply.ContendedError{Err: errStale}, false, false},
		"contended by a conflict": {&apply.ContendedError{Err: &apply.StaleWriteError{Err: errOwnership}}, false, false},
		"retryable by 409":        {&apply.RetryableError{Err: errStale}, false, false},
		"refused by a conflict":   {&apply.RefusedError{Err: errOwnership}, false, false},
		"stale, then the end":     {errors.Join(context.Canceled, errStale), false, true},
	} {
		if got := apply.IsOwnershipConflict(test.err); got != test.ownership {
			t.Errorf("%s: ownership conflict %v", name, got)
		}
		if got := apply.IsStaleWrite(test.err); got != test.stale {
			t.Errorf("%s: stale write %v", name, got)
		}
	}
}

// Messages are one line, and say what happened to which object.
func TestErrorTexts(t *testing.T) {
	lines := errors.New("errors:\n  .spec.a: not declared\n  .spec.b: not declared")
	conflicts := []apply.Conflict{{ServerPath: ".a"}, {ServerPath: ".b", Decision: apply.Force}, {ServerPath: ".c"}}
	own := []apply.Conflict{{ServerPath: ".a", Own: true, Manager: fieldowners.Manager{Name: "m", Operation: "Update"}}, {ServerPath: ".b", Decision: apply.Force}}
	for want, err := range map[string]error{
		"invalid intent: no kind":                                                                                                                       &apply.IntentError{Err: errors.New("no kind")},
		"invalid intent for Deployment shop/web: no":                                                                                                    &apply.IntentError{Object: webRef(), Err: errors.New("no")},
		"stale write: Deployment shop/web changed since it was read: modified":                                                                          &apply.StaleWriteError{Object: webRef(), Err: errors.New("modified")},
		"the request for Deployment shop/web was refused: errors: .spec.a: not declared .spec.b: not declared":                                          &apply.RefusedError{Object: webRef(), Err: lines},
		"writing Deployment shop/web failed with a transient error: errors: .spec.a: not declared .spec.b: not declared":                                &apply.RetryableError{Object: webRef(), Err: lines},
		"uid mismatch: Deployment shop/web (uid uid-1) was deleted or recreated; if a new object with this name exists, the new object was not changed": &apply.UIDMismatchError{Object: webRef(), Err: lines},
		"uid mismatch: Deployment shop/web was deleted or recreated; if a new object with this name exists, the new object was not changed":             &apply.UIDMismatchError{Object: apply.ObjectRef{GroupVersionKind: webRef().GroupVersionKind, NamespacedName: webRef().NamespacedName}, Err: lines},
		"contended: Deployment shop/web changed during every attempt (3 writes sent); nothing was forced or moved; try again later":                     &apply.ContendedError{Object: webRef(), Attempts: 3, Err: lines},
		"ownership conflict on Deployment shop/web: m cannot set .a: owned by /; .c: owned by /; a retry would get the same conflict": &apply.ConflictError{
			Object: webRef(), FieldManager: "m", Conflicts: conflicts, Err: lines},
		"ownership conflict on Deployment shop/web: m cannot set .a: owned by m itself (by Update); `kubectl fieldowners migrate deployment/web --from m --to m` merges the two owners into one": &apply.ConflictError{
			Object: webRef(), FieldManager: "m", Conflicts: own},
		"ownership conflict on Deployment shop/web (status): m cannot set .a: owned by m itself (by Update); set the field either through the object itself or through status, not through both": &apply.ConflictError{
			Object: webRef(), Subresource: "status", FieldManager: "m", Conflicts: own},
		"ownership conflict on Deployment shop/web (status): m cannot set .a: owned by /; a retry would get the same conflict": &apply.ConflictError{
			Object: webRef(), Subresource: "status", FieldManager: "m", Conflicts: conflicts[:1]},
		"the apply of Deployment shop/web was refused: an object with this name already exists and belongs to someone else; delete the object, use another name, or set an Intent.Belongs that accepts the object": &apply.NotOursError{Object: webRef()},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %s", err)
		}
	}
}

// TestClassifyHidesSecrets: what the server says of a Secret may quote its values, whoever
// wrote it.
func TestClassifyHidesSecrets(t *testing.T) {
	secret := apply.ObjectRef{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	quoting := apierrors.NewBadRequest("hunter2 is no good")
	if err := apply.Classify(t.Context(), secret, quoting); !errors.Is(err, apply.ErrRefused) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
	if err := apply.Classify(t.Context(), apply.ObjectRef{}, quoting); !strings.Contains(err.Error(), "hunter2") {
		t.Errorf("of another kind it says no more than %v", err)
	}
}
