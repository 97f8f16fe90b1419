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

// errUnsent says that the context ended before anything was written.
var errUnsent = errors.New("nothing was written")

func unsent(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errUnsent, err)
}

// Classify says what came of an intent by the error of Writer.Write. Where the answer to a write may have been lost, or
// leaves open whether the write reached the store, that is Unknown: the history tells.
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

// failedToRead recognises a live read without an answer, before the write that would have followed. Inside an Applier
// reads follow writes as well.
func failedToRead(err error) bool {
	var request *url.Error
	class := apply.ResultOf(err)
	return (class == "Error" || class == "Cancelled") && errors.As(err, &request) && request.Op == "Get"
}

// isOpen tells that there was no answer, one that broke off, or one that does not say what the store did.
func isOpen(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError
	}
	var network net.Error // as every error of an http.Client is
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsHTTP2ConnectionLost(err)
}
