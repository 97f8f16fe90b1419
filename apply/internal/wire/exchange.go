package wire

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/apply/lanes"
)

// RecordExchange returns a transport that sends requests with next. If the context of a request comes from
// WithExchange, the transport records the request and the response in its Exchange. See apply.RecordExchange.
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
	exchange.last.Store(int32(response.StatusCode))
	return response, nil
}

// WrappedRoundTripper returns the wrapped transport. client-go looks for this method.
func (r *recorder) WrappedRoundTripper() http.RoundTripper { return r.next }

type (
	exchangeKey struct{}
	recordedKey struct{}
)

// Exchange records the requests that one call of an Applier sends, and the status of the last response. An Exchange is also the
// context of the call, which saves an allocation. It is safe for concurrent use.
type Exchange struct {
	context.Context

	requests atomic.Int32
	calls    atomic.Int32 // calls of the client that sent a request, for a transport without RecordExchange
	last     atomic.Int32 // the HTTP status code of the last successful response to a PATCH, such as an apply
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
func (e *Exchange) Calling() { e.last.Store(0) }

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

// LastStatus returns the HTTP status code of the response to the last call of the client if it was a successful PATCH, such
// as an apply. It returns 0 for other responses, and if no response was recorded.
func (e *Exchange) LastStatus() int { return int(e.last.Load()) }

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

// Object is a JSON object from a response, and its fields are not decoded yet. To decode all fields, with the fieldsV1
// of the managed fields entries, would take longer than everything else that a client does for an apply.
type Object map[string]json.RawMessage

// Head decodes the uid, the resourceVersion and the managed fields of the object. It does not decode the fieldsV1 of the
// managed fields entries.
func (o Object) Head() (found Head, err error) {
	if metadata, has := o["metadata"]; has {
		err = json.Unmarshal(metadata, &found)
	}
	return found, err
}

// Part decodes only the fields that are also in the given content, for example in the content of the apply that was
// sent. Of the metadata, it decodes only the fields that the metadata of the content has. Fields that identify the
// object are copied from the content. A value that is not valid JSON is left out.
func (o Object) Part(content map[string]any) map[string]any {
	part := o.pick(content, "apiVersion", "kind", "metadata")
	if wanted, ok := content["metadata"].(map[string]any); ok {
		var metadata Object
		identity := []string{"name", "namespace", "uid", "resourceVersion"}
		for name := range wanted {
			if metadata == nil && !slices.Contains(identity, name) {
				_ = json.Unmarshal(o["metadata"], &metadata) // no error, because Head has decoded the metadata
			}
		}
		part["metadata"] = metadata.pick(wanted, identity...)
	}
	return part
}

func (o Object) pick(content map[string]any, copied ...string) map[string]any {
	part := map[string]any{}
	for name, value := range content {
		if slices.Contains(copied, name) {
			part[name] = value
		} else if raw, has := o[name]; has {
			var decoded any
			if utiljson.Unmarshal(raw, &decoded) == nil {
				part[name] = decoded
			}
		}
	}
	return part
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
