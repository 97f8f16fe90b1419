package applytest

import (
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TooManyRequests is the 429 after client-go has given up repeating: apply.ErrRetryable with
// After set to this time, in whole seconds.
func TooManyRequests(after time.Duration) Answer {
	a := fromServer("TooManyRequests", nil, func(call) *apierrors.StatusError {
		return apierrors.NewTooManyRequests("too many requests, please try again later", int(after/time.Second))
	})
	if after < time.Second || after%time.Second != 0 {
		a.invalid = fmt.Errorf("TooManyRequests(%v): a server asks for one or more whole seconds", after)
	}
	return a
}

// ServerTimeout is the 500 of a server that could not finish in time: apply.ErrRetryable. At a
// real server the write may have landed; here it has not.
func ServerTimeout() Answer {
	return fromServer("ServerTimeout", nil, func(made call) *apierrors.StatusError {
		return apierrors.NewServerTimeout(made.resource, string(made.Verb), 1)
	})
}

// Unavailable is the 503 of a server that is not ready: apply.ErrRetryable.
func Unavailable() Answer {
	return fromServer("Unavailable", nil, func(call) *apierrors.StatusError {
		return apierrors.NewServiceUnavailable("the server is currently unable to handle the request")
	})
}

// InternalError is the 500 with the reason InternalError, such as of a webhook
// that cannot be called: apply.ErrRetryable.
func InternalError() Answer {
	return fromServer("InternalError", nil, func(call) *apierrors.StatusError {
		return apierrors.NewInternalError(errors.New("failed calling webhook"))
	})
}
