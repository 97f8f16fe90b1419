package apply

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// IsOwnershipConflict tells an ownership conflict from a stale write. Both are
// HTTP 409 with reason Conflict, and apierrors.IsConflict is true for both; only
// an ownership conflict has causes of type FieldManagerConflict.
func IsOwnershipConflict(err error) bool {
	return len(conflictCauses(err)) > 0
}

// IsStaleWrite tells whether a write failed because the object is no longer at
// the resourceVersion that it carried. A uid precondition that fails on an absent
// object answers alike: only a live read tells the two apart.
func IsStaleWrite(err error) bool {
	return errors.Is(err, ErrStaleWrite) || apierrors.IsConflict(err) && !IsOwnershipConflict(err)
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
// are.
func Classify(object ObjectRef, err error) error {
	switch {
	case err == nil, ResultOf(err) != "Error", IsOwnershipConflict(err):
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
// server asked to wait. A 500 with an empty reason is no such case: that is how
// unknown fields, duplicate list keys and objects too large for etcd arrive.
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
			return 0, s.Reason == metav1.StatusReasonInternalError
		case http.StatusConflict:
			return 0, s.Reason == metav1.StatusReasonAlreadyExists // lost a race to create
		}
		return 0, false
	}
	return 0, isTransport(err)
}

func isTransport(err error) bool {
	return utilnet.IsConnectionReset(err) || utilnet.IsConnectionRefused(err) || utilnet.IsProbableEOF(err) ||
		utilnet.IsHTTP2ConnectionLost(err) || utilnet.IsTimeout(err) && !errors.Is(err, context.DeadlineExceeded)
}
