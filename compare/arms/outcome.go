package arms

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"coapply.dev/apply"
	"coapply.dev/compare/history"
)

// errUnsent means that the context ended before a write was sent.
var errUnsent = errors.New("nothing was written")

func unsent(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnsent, err)
}

// Classify returns the outcome of an intent, given the error of Writer.Write. The outcome is Unknown if there was no
// response, or if the response does not show whether the write was stored.
func Classify(err error) history.Outcome {
	switch {
	case err == nil:
		return history.Landed
	case apply.IsOwnershipConflict(err):
		return history.Rejected
	case apply.IsStaleWrite(err), errors.Is(err, apply.ErrContended):
		return history.GaveUp
	case errors.Is(err, errUnsent), failedToRead(err):
		return history.Failed
	case isOpen(err):
		return history.Unknown
	}
	return history.Failed
}

// failedToRead reports whether the arm got no response to a read, before any write could be stored. It returns false
// for a read by an Applier, because an Applier may also read after a write.
func failedToRead(err error) bool {
	var request *url.Error
	class := apply.ResultOf(err)
	return (class == "Error" || class == "Cancelled") && errors.As(err, &request) && request.Op == "Get"
}

// isOpen reports whether the write may have been stored despite the error.
func isOpen(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	var network net.Error // every error of an http.Client is a net.Error
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
