package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
)

// RecordExchange returns a transport that sends requests through next, and records the requests whose
// context is from WithExchange in the context's Exchange: see apply.RecordExchange.
func RecordExchange(next http.RoundTripper) http.RoundTripper {
	return recorder{next}
}

type recorder struct{ next http.RoundTripper }

func (r recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	exchange, ok := request.Context().Value(exchangeKey{}).(*Exchange)
	if !ok || request.Context().Value(recordedKey{}) != nil { // not from WithExchange, or this transport is wrapped twice
		return r.next.RoundTrip(request)
	}
	request = request.WithContext(context.WithValue(request.Context(), recordedKey{}, true))
	if request.Context().Err() == nil { // the transport sends nothing after the context has ended
		exchange.sent()
	}
	response, err := r.next.RoundTrip(request)
	if err == nil { // the connection is open, so its setup is not measured
		if probe := lanes.Measure(request.Context()); probe != nil {
			go measure(r.next, request, probe) //nolint:gosec // the measurement may outlive the request
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
		return nil, fmt.Errorf("reading the API server's response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	exchange.answered(Answer{Status: response.StatusCode, Body: body})
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport. client-go calls it.
func (r recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

type (
	exchangeKey struct{}
	recordedKey struct{}
)

// Exchange records the requests that one call of an Applier sent, and the last response. It is safe
// for concurrent use. It is also the context of the call, which saves an allocation.
type Exchange struct {
	context.Context

	mu       sync.Mutex
	requests int
	calls    int // client calls that sent a request; used if the transport does not record requests
	last     Answer
}

// Answer is the API server's successful response to a PATCH request.
type Answer struct {
	Status int // the HTTP status code; 0 if the response was not recorded
	Body   []byte
}

// WithExchange returns a context, and the Exchange that records the requests sent with this context.
func WithExchange(ctx context.Context) (context.Context, *Exchange) {
	e := &Exchange{Context: ctx}
	return e, e
}

// Value implements context.Context. It returns the Exchange for exchangeKey.
func (e *Exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return e
	}
	return e.Context.Value(key)
}

// Calling must be called before each call to the client. It drops the recorded response.
func (e *Exchange) Calling() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = Answer{}
}

// Called must be called after each call to the client, with the client's error, and counts the calls
// that sent a request. If the error is neither from the API server nor from the http.Client, no request
// was sent. An example is a kind that the API server does not have.
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

// LastAnswer returns the response to the last client call, or the zero value if none was recorded.
func (e *Exchange) LastAnswer() Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// Identity identifies one version of an object.
type Identity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// Head is the part of an object's metadata that an apply needs from the response.
type Head struct {
	Identity
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// ReadHead decodes an object's JSON up to the end of its metadata, which the API server writes near
// the beginning. The fieldsV1 of the managed fields entries stay JSON: decoding and encoding them
// would take longer than all other client work of an apply.
func ReadHead(object []byte) (found Head, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	begin, err := decoder.Token()
	if err == nil && begin != json.Delim('{') {
		err = fmt.Errorf("the response begins with %v, but a JSON object is expected", begin)
	}
	for err == nil && decoder.More() {
		var name json.Token
		if name, err = decoder.Token(); err != nil {
			return Head{}, err
		}
		if name == "metadata" {
			err = decoder.Decode(&found)
			return found, err
		}
		var skipped json.RawMessage
		err = decoder.Decode(&skipped)
	}
	if err == nil {
		_, err = decoder.Token()
	}
	return Head{}, err
}

// probePath is the path of the request that measures the round-trip time. The path is exempt from
// priority and fairness, and all authenticated users may read it (system:public-info-viewer).
const probePath = "/livez"

// measure sends a request that is very cheap for the API server, with the transport of the other
// requests, and reports the result to probe, which measures the round-trip time.
func measure(transport http.RoundTripper, like *http.Request, probe *lanes.Probe) {
	if quiet(probe) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	prefix, _, _ := strings.Cut(like.URL.Path, "/api") // the path prefix of a proxy for several clusters
	request := &http.Request{
		Method: http.MethodGet, URL: &url.URL{Scheme: like.URL.Scheme, Host: like.URL.Host, Path: prefix + probePath}, Host: like.Host,
		Header: like.Header.Clone(), Proto: like.Proto, ProtoMajor: like.ProtoMajor, ProtoMinor: like.ProtoMinor,
	}
	for _, ofBody := range []string{"Content-Type", "Content-Length", "Accept"} {
		request.Header.Del(ofBody)
	}
	response, err := transport.RoundTrip(request.WithContext(ctx))
	if err != nil {
		probe.Failed()
		return
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 4096))
	_ = response.Body.Close() // the body has been read
	switch {
	case err != nil, response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		probe.Failed()
	case response.StatusCode == http.StatusOK:
		probe.Answered()
	case probe.Refused():
		logr.FromContextOrDiscard(like.Context()).Info("the API server refused the request that measures the round-trip time, so this process sends its writes to one object one at a time; allow get of this path to change that",
			"path", probePath, "status", response.Status)
	}
}

// quiet waits until no writer holds the object's lane. The wait has its own deadline: on a slow network,
// the last writers hold the lane for as long as the measuring request takes.
func quiet(probe *lanes.Probe) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	return probe.Quiet(ctx)
}
