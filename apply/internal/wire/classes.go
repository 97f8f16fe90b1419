package wire

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
)

// statusIn returns the Status in an error of the API server. Its Details are never nil. Its Code is 0 if the error does not
// come from the API server.
func statusIn(err error) (status metav1.Status) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		status = answer.Status()
	}
	status.Details = cmp.Or(status.Details, &metav1.StatusDetails{})
	return status
}

// ConflictCauses returns the causes of type FieldManagerConflict in an error of the API server: one for each ownership
// conflict. A 409 without such a cause is a stale write.
func ConflictCauses(err error) (causes []metav1.StatusCause) {
	status := statusIn(err)
	for _, cause := range status.Details.Causes {
		if status.Reason == metav1.StatusReasonConflict && cause.Type == metav1.CauseTypeFieldManagerConflict {
			causes = append(causes, cause)
		}
	}
	return causes
}

// IsImmutableUID reports whether an error is the 422 for a change of metadata.uid, which is immutable. The API server
// returns this error for a write with the uid of an earlier object of the same name.
func IsImmutableUID(err error) bool {
	status := statusIn(err)
	return status.Reason == metav1.StatusReasonInvalid &&
		slices.ContainsFunc(status.Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.uid" })
}

// RetryAfter reports whether a failed request may succeed if it is sent again. It also returns the delay that the API
// server asked for, or 0. A request that failed with a 500 may succeed later, unless RefusedBy500 recognises the
// message. After a 500 with an unrecognised message, the API server may have stored the write.
func RetryAfter(err error) (time.Duration, bool) {
	if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
		return time.Duration(seconds) * time.Second, true
	}
	switch status := statusIn(err); status.Code {
	case 0:
		return 0, err != nil && hasNoAnswer(err)
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return 0, true
	case http.StatusInternalServerError:
		return 0, RefusedBy500(status) == ""
	case http.StatusConflict:
		return 0, status.Reason == metav1.StatusReasonAlreadyExists // another writer created the object first
	}
	return 0, false
}

// refusals are parts of the messages of permanent rejections. The API server sends each of them as a 500 without a
// reason, so that only the message distinguishes them from a failure of etcd. The first text is about an unknown field,
// a wrong type or a duplicate list key. The second is about the scale of a custom resource, which Kubernetes 1.37
// cannot apply. The last two are about an object that is too large for etcd.
var refusals = []string{
	"failed to create typed patch object",
	"request to convert CR to an invalid group/version",
	"etcdserver: request is too large",
	"trying to send message larger than max",
}

// RefusedBy500 returns the text in refusals that the message of a 500 contains, or "" if there is none. After a 500
// without such a text, the API server may have stored the write.
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

// FailedWebhook returns the name of the admission webhook that the API server could not call, or "" for other errors.
// Do not put the error message into a status: parts of the message, such as a port, differ from call to call.
func FailedWebhook(err error) string {
	status := statusIn(err)
	if status.Reason != metav1.StatusReasonInternalError {
		return ""
	}
	_, rest, _ := strings.Cut(status.Message, `failed calling webhook "`)
	name, _, _ := strings.Cut(rest, `"`)
	return name
}

// hasNoAnswer reports whether an error means that the client has no complete response of the API server: the request or
// the response was lost, the client cannot decode the response (such as the HTML page of a proxy), or client-go's rate
// limiter rejected the request, because the request would have had to wait until after the deadline of its context. The
// API server may have stored the write. Each error of an http.Client is a net.Error. The errors of client-go's decoder
// and rate limiter have no type of their own.
func hasNoAnswer(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsHTTP2ConnectionLost(err) ||
		strings.Contains(err.Error(), "couldn't get version/kind; json parse error") ||
		strings.Contains(err.Error(), "client rate limiter Wait returned an error")
}

// Tries calls the given function up to eight times, with short jittered waits, while the function returns the error of a
// stale write. If every attempt ended with such an error, exhausted is true and err is the last error, which the caller
// wraps in a ContendedError. The argument stale must be apply.IsStaleWrite, which this package cannot import.
func Tries(ctx context.Context, stale func(error) bool, try func() error) (exhausted bool, err error) {
	return Repeat(ctx, wait.Backoff{Steps: 8, Duration: 2 * time.Millisecond, Factor: 2, Jitter: 1}, stale, try)
}

// Repeat calls the function try until the function worth returns false for the result of try: an error or nil. The
// given back-off sets the number of attempts and the waits between them. If all attempts are used up, exhausted is
// true and err is the last error. If the context ends during a wait, err is the error of the context.
func Repeat(ctx context.Context, backoff wait.Backoff, worth func(error) bool, try func() error) (exhausted bool, err error) {
	for {
		if err := try(); !worth(err) {
			return false, err
		} else if backoff.Steps <= 1 {
			return true, err
		}
		select {
		case <-time.After(backoff.Step()):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

type beforeKey struct{}

// BeforeSending returns a context for one call of Applier.Apply. Apply calls the given function once, before its first
// request, and continues with the context that the function returns. If Apply has nothing to send, it does not call the
// function. If the function returns an error, Apply sends nothing and returns the error.
func BeforeSending(ctx context.Context, before func(context.Context) (context.Context, error)) context.Context {
	return context.WithValue(ctx, beforeKey{}, before)
}

// Before calls the function that BeforeSending has put into the context, if there is one.
func Before(ctx context.Context) (context.Context, error) {
	if before, ok := ctx.Value(beforeKey{}).(func(context.Context) (context.Context, error)); ok {
		return before(ctx)
	}
	return ctx, nil
}
