package apply

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
)

// RecordExchange lets appliers read from the HTTP exchange what the client's
// answer does not say: how many requests went out, client-go's own retries
// included, and whether the object was created or left unchanged. Wrap the
// rest.Config with it before any client is made from it:
//
//	cfg.Wrap(apply.RecordExchange)
//
// Without it an Outcome counts the calls it made instead, and says Configured
// where it cannot know better. It records nothing for requests that no Apply
// sent.
func RecordExchange(next http.RoundTripper) http.RoundTripper {
	return recorder{next}
}

type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	exchange, ok := request.Context().Value(exchangeKey{}).(*exchange)
	if !ok || request.Context().Value(recordedKey{}) != nil { // none of ours, or wrapped twice
		return r.next.RoundTrip(request)
	}
	request = request.WithContext(context.WithValue(request.Context(), recordedKey{}, true))
	if request.Context().Err() == nil { // the transport sends nothing after the end
		exchange.sent()
	}
	response, err := r.next.RoundTrip(request)
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
	exchange.answered(answer{status: response.StatusCode, body: body})
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (r recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

type (
	exchangeKey struct{}
	recordedKey struct{}
)

// exchange is what one Apply sent and got.
type exchange struct {
	mu       sync.Mutex
	requests int
	calls    int // of ours that became requests, for when nothing is recorded
	last     answer
}

// answer is the last successful answer to a PATCH.
type answer struct {
	status int // 0: not recorded
	body   []byte
}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	e := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, e), e
}

// calling begins a call of ours to the client.
func (e *exchange) calling() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = answer{}
}

// called counts a call of ours by how it ended: an error that is neither an answer
// nor one of the http.Client came before any request, such as that of a kind which
// the server does not have.
func (e *exchange) called(err error) {
	var fromServer apierrors.APIStatus
	var fromTransport *url.Error
	if err != nil && !errors.As(err, &fromServer) && !errors.As(err, &fromTransport) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls++
}

func (e *exchange) sent() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests++
}

func (e *exchange) answered(a answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = a
}

// sentInAll counts the requests sent so far.
func (e *exchange) sentInAll() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return max(e.requests, e.calls)
}

func (e *exchange) lastAnswer() answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}
