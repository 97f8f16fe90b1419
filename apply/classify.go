package apply

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// IsOwnershipConflict tells an ownership conflict from a stale write. Both are
// HTTP 409 with reason Conflict, and apierrors.IsConflict is true for both; only
// an ownership conflict has causes of type FieldManagerConflict. An error of
// another class that wraps such an answer, as a ContendedError may, is none.
func IsOwnershipConflict(err error) bool {
	return errors.Is(err, ErrConflict) || !hasClass(err) && len(conflictCauses(err)) > 0
}

// IsStaleWrite tells whether a write failed because the object is no longer at
// the resourceVersion that it carried. A uid precondition that fails on an absent
// object answers alike: only a live read tells the two apart. An error of another
// class that wraps such an answer, as a UIDMismatchError may, is none: writing
// again does not heal it.
func IsStaleWrite(err error) bool {
	if hasClass(err) {
		return ResultOf(err) == "StaleWrite"
	}
	return apierrors.IsConflict(err) && len(conflictCauses(err)) == 0
}

// hasClass tells whether an error is one of this package's typed errors.
func hasClass(err error) bool {
	switch ResultOf(err) {
	case "Error", "Cancelled", "Success":
		return false
	}
	return true
}

func conflictCauses(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonConflict || status.Status().Details == nil {
		return nil
	}
	var causes []metav1.StatusCause
	for _, cause := range status.Status().Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			causes = append(causes, cause)
		}
	}
	return causes
}

// isImmutableUID recognises the 422 that a write with the uid of an earlier
// object of the same name gets.
func isImmutableUID(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if cause.Field == "metadata.uid" {
			return true
		}
	}
	return false
}

// Classify wraps the error of a write into the typed error of its class:
// StaleWriteError, UIDMismatchError, RetryableError or RefusedError. Ownership
// conflicts, errors already classified and the end of the context stay as they
// are. The context is the one that the write was sent with: while it has not
// ended, an error that says so is a timeout of the client's own, and retryable.
//
// The values of Secrets are hidden: what the server says of one is left out where it
// may quote them.
func Classify(ctx context.Context, object ObjectRef, err error) error {
	switch {
	case ResultOf(err) == "Cancelled" && ctx.Err() == nil:
		return &RetryableError{Object: object, Err: err}
	case err == nil, ResultOf(err) != "Error":
		return err
	}
	err = withoutValues(object, err)
	switch {
	case IsOwnershipConflict(err):
		return err
	case IsStaleWrite(err):
		return &StaleWriteError{Object: object, Err: err}
	case isImmutableUID(err):
		return &UIDMismatchError{Object: object, Err: err}
	}
	if after, retryable := retryAfter(err); retryable {
		return &RetryableError{Object: object, After: after, Err: err}
	}
	return &RefusedError{Object: object, Err: err}
}

// retryAfter tells whether the same request may succeed later, and how long the
// server asked to wait. A 500 is one that may, unless it is known to be refused: the
// write may even have landed.
func retryAfter(err error) (time.Duration, bool) {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second, true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch s := status.Status(); s.Code {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return 0, true
		case http.StatusInternalServerError:
			return 0, refusedBy500(s) == ""
		case http.StatusConflict:
			return 0, s.Reason == metav1.StatusReasonAlreadyExists // lost a race to create
		}
		return 0, false
	}
	return 0, isTransport(err)
}

// refusals are in the messages of the requests that the API server refuses by a 500
// without a reason: an unknown field, a wrong type or a list key twice, the scale of a
// custom resource, which server 1.36 cannot apply, and objects that are too large for
// etcd. It answers alike while etcd dies, and only the message tells.
var refusals = []string{
	"failed to create typed patch object",
	"request to convert CR to an invalid group/version",
	"etcdserver: request is too large",
	"trying to send message larger than max",
}

// refusedBy500 returns which of them it is; "": the write may have landed.
func refusedBy500(status metav1.Status) string {
	if status.Code != http.StatusInternalServerError || status.Reason != metav1.StatusReasonUnknown {
		return ""
	}
	for _, refusal := range refusals {
		if strings.Contains(status.Message, refusal) {
			return refusal
		}
	}
	return ""
}

// isTransport tells whether a request got no answer, or one that broke off.
// Every error that comes out of an http.Client is a *url.Error, which is a
// net.Error.
func isTransport(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsHTTP2ConnectionLost(err)
}
