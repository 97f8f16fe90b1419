package applytest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"syscall"
)

// ConnectionReset is a connection that breaks before the call is sent:
// apply.ErrRetryable. Nothing lands.
func ConnectionReset() Answer {
	return Answer{name: "ConnectionReset", give: func(_ context.Context, made call) error {
		return transportError(made, &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET})
	}}
}

// AnswerLost lets the write go through and loses its answer, whatever it was: the object passed
// in stays as it was, and the error is apply.ErrRetryable. A repeated write meets what the
// first one did.
func AnswerLost() Answer {
	return Answer{name: "AnswerLost", only: writes, lands: true, give: func(_ context.Context, made call) error {
		return transportError(made, io.ErrUnexpectedEOF)
	}}
}

// ClientTimeout is a timeout of the client's own, before the context of the call ends:
// apply.ErrRetryable. Nothing lands.
func ClientTimeout() Answer {
	return Answer{name: "ClientTimeout", give: func(_ context.Context, made call) error {
		return transportError(made, context.DeadlineExceeded)
	}}
}

// Hangs answers only when the context of the call ends, with its error. A context that cannot
// end fails the test and the call at once. Nothing lands.
func Hangs() Answer {
	return Answer{name: "Hangs", give: func(ctx context.Context, made call) error {
		if ctx.Done() == nil {
			return misgiven("its context has no end, so it would hang forever; give the call one with a deadline")
		}
		<-ctx.Done()
		return transportError(made, ctx.Err())
	}}
}

// Fails answers with an error of the caller's choice, for example that of a client in between.
func Fails(err error) Answer {
	a := Answer{name: "Fails", give: func(context.Context, call) error { return err }}
	if err == nil {
		a.invalid = errors.New("Fails: an error is needed")
	}
	return a
}

// transportError returns the error in the form in which an http.Client returns errors.
func transportError(made call, err error) error {
	methods := map[Verb]string{
		VerbCreate: "Post", VerbUpdate: "Put", VerbPatch: "Patch", VerbApply: "Patch",
		VerbDelete: "Delete", VerbDeleteCollection: "Delete",
	}
	method, ok := methods[made.Verb]
	if !ok {
		method = "Get"
	}
	return &url.Error{Op: method, URL: "https://applytest.invalid/" + made.resource.Resource, Err: err}
}
