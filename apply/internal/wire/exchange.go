package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply/lanes"
)

// RecordExchange returns a transport that records requests whose context is from WithExchange:
// see apply.RecordExchange.
func RecordExchange(next http.RoundTripper) http.RoundTripper {
	return recorder{next}
}

type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	exchange, ok := request.Context().Value(exchangeKey{}).(*Exchange)
	if !ok || request.Context().Value(recordedKey{}) != nil { // none of ours, or wrapped twice
		return r.next.RoundTrip(request)
	}
	request = request.WithContext(context.WithValue(request.Context(), recordedKey{}, true))
	if request.Context().Err() == nil { // the transport sends nothing after the end
		exchange.sent()
	}
	response, err := r.next.RoundTrip(request)
	if err == nil { // so there is a connection: opening one is not measured
		if probe := lanes.Measure(request.Context()); probe != nil {
			go measure(r.next, request, probe) //nolint:gosec // it is not part of the request, and may outlive it
		}
	}
	if err != nil || request.Method != http.MethodPatch || response.StatusCode >= http.StatusMultipleChoices {
		return response, err
	}
	body, err := io.ReadAll(response.Body)
	if closeErr := response.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	exchange.answered(Answer{Status: response.StatusCode, Body: body})
	return response, nil
}

// WrappedRoundTripper returns the transport below, for client-go.
func (r recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

type (
	exchangeKey struct{}
	recordedKey struct{}
)

// Exchange records what one call of an Applier sent and received. It is safe for concurrent
// use. It is its own context, to save memory.
type Exchange struct {
	context.Context

	mu       sync.Mutex
	requests int
	calls    int // calls that became requests, in case requests are not recorded
	last     Answer
}

// Answer is a successful answer to a PATCH.
type Answer struct {
	Status int // of HTTP; 0 if the answer was not recorded
	Body   []byte
}

// WithExchange returns a context whose requests are recorded in the Exchange.
func WithExchange(ctx context.Context) (context.Context, *Exchange) {
	e := &Exchange{Context: ctx}
	return e, e
}

// Value implements context.Context.
func (e *Exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return e
	}
	return e.Context.Value(key)
}

// Calling is called before each call to the client.
func (e *Exchange) Calling() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = Answer{}
}

// Called is called with the error of each call to the client, and counts it. An error that is
// neither an answer nor one of the http.Client came before any request, for example because the
// server does not have the kind, and is not counted.
func (e *Exchange) Called(err error) {
	var fromServer apierrors.APIStatus
	var fromTransport *url.Error
	if err != nil && !errors.As(err, &fromServer) && !errors.As(err, &fromTransport) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
}

func (e *Exchange) sent() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
}

func (e *Exchange) answered(a Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = a
}

// Requests returns the number of requests sent so far.
func (e *Exchange) Requests() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.requests, e.calls)
}

// LastAnswer returns the answer to the last call; the zero value if none was recorded.
func (e *Exchange) LastAnswer() Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}
