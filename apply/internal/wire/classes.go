package wire

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
	"k8s.io/apimachinery/pkg/util/wait"
)

// ConflictCauses returns the causes of type FieldManagerConflict in an error of the API server, one for
// each ownership conflict. A 409 error without such a cause is a stale write.
func ConflictCauses(err error) []metav1.StatusCause {
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

// IsImmutableUID reports whether an error is the 422 with which the API server rejects a write
// whose uid belongs to an earlier object of the same name.
func IsImmutableUID(err error) bool {
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

// RetryAfter reports whether a failed request may succeed if it is sent again, and returns how long the
// API server asked the client to wait, or 0. A request that failed with a 500 may succeed later, unless
// RefusedBy500 recognises the message. Its write may even have been stored.
func RetryAfter(err error) (time.Duration, bool) {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second, true
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		switch s := status.Status(); s.Code {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			return 0, true
		case http.StatusInternalServerError:
			return 0, RefusedBy500(s) == ""
		case http.StatusConflict:
			return 0, s.Reason == metav1.StatusReasonAlreadyExists // lost a race to create
		}
		return 0, false
	}
	return 0, isTransport(err) || isUnreadable(err) || isThrottled(err)
}

// refusals are parts of the messages with which the API server rejects a request permanently, although
// the status is a 500 without a reason. They mean: an unknown field, a wrong type or a duplicate list
// key; the scale of a custom resource, which Kubernetes 1.37 cannot apply; an object that is too large
// for etcd. When etcd fails, the API server returns a 500 that differs only in its message.
var refusals = []string{
	"failed to create typed patch object",
	"request to convert CR to an invalid group/version",
	"etcdserver: request is too large",
	"trying to send message larger than max",
}

// RefusedBy500 returns the text of refusals that the message of a 500 contains, or "" if it contains
// none of them. In the latter case, the write may have been stored.
func RefusedBy500(status metav1.Status) string {
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

// FailedWebhook returns the name of the admission webhook that the API server could not call, or ""
// for any other error. Other parts of the error message, such as a port, differ from call to call.
func FailedWebhook(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInternalError {
		return ""
	}
	_, rest, _ := strings.Cut(status.Status().Message, `failed calling webhook "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// isTransport reports whether a request got no response, or an incomplete one. Every error of an
// http.Client is a *url.Error, which is a net.Error.
func isTransport(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsHTTP2ConnectionLost(err)
}

// isThrottled reports whether client-go's rate limiter rejected a request, because the request's
// turn would come after the context's deadline. No request was sent. The rate limiter returns an
// untyped error while the context is still valid.
func isThrottled(err error) bool {
	return err != nil && strings.Contains(err.Error(), "client rate limiter Wait returned an error")
}

// isUnreadable reports whether the client could not decode a response, such as a proxy's HTML page or a
// truncated response. The write may have been stored. client-go's decoder returns an untyped error.
func isUnreadable(err error) bool {
	return err != nil && strings.Contains(err.Error(), "couldn't get version/kind; json parse error")
}

// settleBackoff returns the backoff of Tries: eight attempts against other writers that change the object
// between the read and the write, with jittered waits between the attempts.
func settleBackoff() wait.Backoff {
	return wait.Backoff{Steps: 8, Duration: 2 * time.Millisecond, Factor: 2, Jitter: 1}
}

// Tries calls try until the error of try is not a stale write, at most eight times, with jittered waits
// in between. If all attempts were stale, exhausted is true and err is the last error, from which the
// caller makes a ContendedError. The argument stale is apply.IsStaleWrite.
func Tries(ctx context.Context, stale func(error) bool, try func() error) (exhausted bool, err error) {
	return Repeat(ctx, settleBackoff(), stale, try)
}

// Repeat calls try until worth returns false for the error of try, which may be nil. backoff determines
// the number of attempts and the waits between them. If backoff allows no further attempt, exhausted is
// true and err is the last error. If the context ends during a wait, err is the context's error.
func Repeat(ctx context.Context, backoff wait.Backoff, worth func(error) bool, try func() error) (exhausted bool, err error) {
	for {
		if err := try(); !worth(err) {
			return false, err
		} else if backoff.Steps <= 1 {
			return true, err
		}
		if err := Sleep(ctx, backoff.Step()); err != nil {
			return false, err
		}
	}
}

// Sleep waits for d. If the context ends first, Sleep returns the context's error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type beforeKey struct{}

// BeforeSending returns a context for one call of Applier.Apply. The Applier calls the function before
// once, just before its first request, and not at all if it has nothing to send. Apply continues with
// the context that before returns. If before returns an error, Apply returns that error.
func BeforeSending(ctx context.Context, before func(context.Context) (context.Context, error)) context.Context {
	return context.WithValue(ctx, beforeKey{}, before)
}

// Before calls the function that BeforeSending stored in the context, if there is one.
func Before(ctx context.Context) (context.Context, error) {
	if before, ok := ctx.Value(beforeKey{}).(func(context.Context) (context.Context, error)); ok {
		return before(ctx)
	}
	return ctx, nil
}
