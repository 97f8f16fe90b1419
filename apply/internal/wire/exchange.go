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

// Identity identifies one version of an object.
type Identity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

// Head is the part of an object's metadata that an apply needs from the answer.
type Head struct {
	Identity
	ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
}

// ReadHead reads an object's JSON as far as its metadata, which in the answers of the API
// server come before the rest. The fields of the managed fields entries stay as JSON: encoding
// them again would take longer than all else that the client does for an apply.
func ReadHead(object []byte) (found Head, err error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	begin, err := decoder.Token()
	if err == nil && begin != json.Delim('{') {
		err = fmt.Errorf("it begins with %v, and is no object", begin)
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

// probePath is answered at once, may be read by everybody who is logged in
// (system:public-info-viewer), and is exempt from priority and fairness.
const probePath = "/livez"

// measure measures how long a request takes that costs the server next to nothing, by the
// transport of our requests.
func measure(transport http.RoundTripper, like *http.Request, probe *lanes.Probe) {
	if quiet(probe) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	prefix, _, _ := strings.Cut(like.URL.Path, "/api") // of a proxy that serves several clusters
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
	_ = response.Body.Close() // it has been read
	switch {
	case err != nil, response.StatusCode >= http.StatusInternalServerError, response.StatusCode == http.StatusTooManyRequests:
		probe.Failed()
	case response.StatusCode == http.StatusOK:
		probe.Answered()
	case probe.Refused():
		logr.FromContextOrDiscard(like.Context()).Info("the round trip to the API server cannot be measured: writes of this process to one object go one at a time",
			"path", probePath, "status", response.Status)
	}
}

// quiet waits until no writer is inside the lane. This wait has a separate deadline. On a slow network, the last
// writers take as long to leave as the probe request itself takes.
func quiet(probe *lanes.Probe) error {
	ctx, cancel := context.WithTimeout(context.Background(), lanes.ProbeTimeout)
	defer cancel()
	return probe.Quiet(ctx)
}
