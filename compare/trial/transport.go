package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// counting is a transport that counts the requests of writers.
type counting struct {
	next  http.RoundTripper
	tally *tally
}

// attempt counts the requests of one intent. The context of each request contains the attempt of its intent.
type attempt struct {
	requests atomic.Int64
	// open is the number of writes for which no response shows whether they were stored.
	open atomic.Int64
	// waited is the time in nanoseconds that was spent waiting on purpose.
	waited atomic.Int64
	tally  *tally
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns the attempt in a context. If the request does not belong to an intent, it returns a new attempt,
// and the counts of this attempt are ignored.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}

// RoundTrip sends a request. The request is counted when the response body has been read to the end or closed.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	of := attemptOf(request.Context())
	of.requests.Add(1)
	response, err := c.next.RoundTrip(request)
	if writes(request) && (err != nil || response.StatusCode == http.StatusGatewayTimeout) {
		of.open.Add(1)
	}
	if err != nil {
		c.tally.unanswered(request)
		return nil, err
	}
	key := fmt.Sprintf("%s %d", verb(request), response.StatusCode)
	c.tally.answered(max(0, request.ContentLength))
	body := &countedBody{ReadCloser: response.Body}
	body.done = sync.OnceFunc(func() { c.tally.read(key, body.read) })
	response.Body = body
	if response.StatusCode == http.StatusConflict && (request.Method == http.MethodPut || request.Method == http.MethodPatch) {
		return c.classify(response)
	}
	return response, nil
}

// WrappedRoundTripper implements RoundTripperWrapper of k8s.io/apimachinery/pkg/util/net.
func (c *counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// classify counts a response with status 409 as an ownership conflict or as a stale write.
func (c *counting) classify(response *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("reading a response with status 409: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	var status apierrors.StatusError
	if json.Unmarshal(body, &status.ErrStatus) == nil && apierrors.HasStatusCause(&status, metav1.CauseTypeFieldManagerConflict) {
		c.tally.count(&c.tally.client.Conflicts)
	} else {
		c.tally.count(&c.tally.client.StaleWrites)
	}
	return response, nil
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

func isWatch(request *http.Request) bool {
	value := request.URL.Query().Get("watch")
	return value == "1" || value == "true"
}

// verb returns "WATCH" for a watch, "APPLY" for an apply, and the HTTP method for any other request.
func verb(request *http.Request) string {
	switch {
	case isWatch(request):
		return "WATCH"
	case request.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType):
		return "APPLY"
	}
	return request.Method
}

// countedBody is a response body that calls done when it has been read to the end or closed.
type countedBody struct {
	io.ReadCloser
	read int64 // number of bytes
	done func()
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		b.done()
	}
	return n, err
}

func (b *countedBody) Close() error {
	defer b.done()
	return b.ReadCloser.Close()
}

// waiting returns a transport for the administrator. The duration of an administrator's request in Run.Next counts as
// time that the writer waits on purpose, and not as time of the load generator.
func waiting(next http.RoundTripper) http.RoundTripper { return waitingTransport{next} }

type waitingTransport struct{ next http.RoundTripper }

func (w waitingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	defer func() { attemptOf(request.Context()).waited.Add(int64(time.Since(began))) }()
	return w.next.RoundTrip(request)
}

// WrappedRoundTripper implements RoundTripperWrapper of k8s.io/apimachinery/pkg/util/net.
func (w waitingTransport) WrappedRoundTripper() http.RoundTripper { return w.next }
