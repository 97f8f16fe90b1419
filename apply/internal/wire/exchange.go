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
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply/lanes"
)

// RecordExchange returns a transport that sends requests with next. If the context of a request comes from
// WithExchange, it records the request and the response in the Exchange of the context. See apply.RecordExchange.
func RecordExchange(next http.RoundTripper) http.RoundTripper { return &recorder{next: next} }

type recorder struct {
	next    http.RoundTripper
	refused sync.Once // logs that the API server refused a request of ping
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	exchange, ok := request.Context().Value(exchangeKey{}).(*Exchange)
	if !ok || request.Context().Value(recordedKey{}) != nil { // not to be recorded, or recorded already because this transport was wrapped twice
		return r.next.RoundTrip(request)
	}
	request = request.WithContext(context.WithValue(request.Context(), recordedKey{}, true))
	if request.Context().Err() == nil { // after the end of the context, the transport sends nothing
		exchange.requests.Add(1)
	}
	response, err := r.next.RoundTrip(request)
	if err == nil { // now the connection is open, and its setup is not measured
		lanes.Measure(request.Context(), func(ctx context.Context) (permitted bool, err error) { return r.ping(ctx, request) })
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
	exchange.last.Store(&Answer{Status: response.StatusCode, Body: body})
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (r *recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

type (
	exchangeKey struct{}
	recordedKey struct{}
)

// Exchange records the requests that one call of an Applier sends, and the last response. An Exchange is also the
// context of the call, which saves an allocation. It is safe for concurrent use.
type Exchange struct {
	context.Context

	requests atomic.Int32
	calls    atomic.Int32 // calls of the client that sent a request, for a transport without RecordExchange
	last     atomic.Pointer[Answer]
}

// Answer is a successful response of the API server to a PATCH, such as an apply.
type Answer struct {
	Status int // the HTTP status code; 0 if the response was not recorded
	Body   []byte
}

// WithExchange returns a context and an Exchange that records all requests with this context.
func WithExchange(ctx context.Context) (context.Context, *Exchange) {
	e := &Exchange{Context: ctx}
	return e, e
}

// Value implements context.Context. For exchangeKey it returns the Exchange itself.
func (e *Exchange) Value(key any) any {
	if key == (exchangeKey{}) {
		return e
	}
	return e.Context.Value(key)
}

// Calling must be called before each call of the client. It forgets the last response.
func (e *Exchange) Calling() { e.last.Store(nil) }

// Called must be called after each call of the client, with the client's error. It counts the calls that sent a
// request. An error that comes neither from the API server nor from the http.Client means that no request was sent, for
// example because the kind is not known.
func (e *Exchange) Called(err error) {
	var fromServer apierrors.APIStatus
	var fromTransport *url.Error
	if err == nil || errors.As(err, &fromServer) || errors.As(err, &fromTransport) {
		e.calls.Add(1)
	}
}

// Requests returns the number of HTTP requests so far. If the transport does not record requests (see RecordExchange),
// Requests returns the number of client calls that sent a request.
func (e *Exchange) Requests() int { return int(max(e.requests.Load(), e.calls.Load())) }

// LastAnswer returns the response to the last call of the client, or the zero Answer if no response was recorded.
func (e *Exchange) LastAnswer() Answer {
	if last := e.last.Load(); last != nil {
		return *last
	}
	return Answer{}
}

// Identity identifies one version of an object.
type Identity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// Head is the part of the metadata of an object that an Applier reads from a response.
type Head struct {
	Identity
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// ReadHead decodes the metadata of an object from JSON. It stops after the metadata, which the API server writes near
// the beginning, because decoding a large object would take longer than everything else that the client does for an
// apply. For the same reason, it does not decode the fieldsV1 of the managed fields entries.
func ReadHead(object []byte) (found Head, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	_, err = decoder.Token() // the opening brace
	for err == nil && decoder.More() {
		name, _ := decoder.Token() // after an error, the next read of the decoder returns an error as well
		if name == "metadata" {
			err = decoder.Decode(&found)
			return found, err
		}
		err = decoder.Decode(&json.RawMessage{})
	}
	return Head{}, errors.New("the response has no metadata")
}

// probePath is the path of the request that measures the round-trip time. This path is exempt from API priority and
// fairness, and all authenticated users may get it (system:public-info-viewer).
const probePath = "/livez"

// ping sends a GET of probePath, with the host and the headers of the given request.
func (r *recorder) ping(ctx context.Context, like *http.Request) (permitted bool, err error) {
	prefix, _, _ := strings.Cut(like.URL.Path, "/api") // the path prefix, for a proxy in front of several clusters
	request := like.Clone(ctx)
	request.Method, request.Body, request.GetBody, request.ContentLength = http.MethodGet, nil, nil, 0
	request.URL = &url.URL{Scheme: like.URL.Scheme, Host: like.URL.Host, Path: prefix + probePath}
	request.Header.Del("Content-Type")
	request.Header.Del("Accept")
	response, err := r.next.RoundTrip(request)
	if err != nil {
		return true, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(response.Body, 4096))
	_ = response.Body.Close() // no error to report, because the body has been read
	switch {
	case err != nil || response.StatusCode == http.StatusOK:
		return true, err
	case response.StatusCode >= http.StatusInternalServerError || response.StatusCode == http.StatusTooManyRequests:
		return true, errors.New(response.Status)
	}
	r.refused.Do(func() {
		logr.FromContextOrDiscard(like.Context()).Info("the API server refused the request that measures the round-trip time, so this process sends its writes to an object one at a time; to let it send several at once, grant the right to get this path",
			"path", probePath, "status", response.Status)
	})
	return false, nil
}
