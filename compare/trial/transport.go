package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// counting counts the requests of the writers.
type counting struct {
	next  http.RoundTripper
	tally *tally
}

// attempt is what one intent sent. Its requests carry it in their context.
type attempt struct {
	requests atomic.Int64
	// open counts writes of which nobody told whether they landed.
	open atomic.Int64
	// waited is time spent on purpose.
	waited atomic.Int64
	tally  *tally
}

type attemptKey struct{}

func withAttempt(ctx context.Context, a *attempt) context.Context {
	return context.WithValue(ctx, attemptKey{}, a)
}

// attemptOf returns an attempt that nobody looks at for a request that is no intent's.
func attemptOf(ctx context.Context) *attempt {
	if a, ok := ctx.Value(attemptKey{}).(*attempt); ok {
		return a
	}
	return &attempt{}
}

// RoundTrip counts the request when its answer has been read: in full, or as far as the client wanted.
func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	began, of := time.Now(), attemptOf(request.Context())
	of.requests.Add(1)
	response, err := c.next.RoundTrip(request)
	if err != nil {
		if writes(request) {
			of.open.Add(1)
		}
		c.tally.unanswered(request, time.Since(began))
		return nil, err
	}
	if writes(request) && response.StatusCode == http.StatusGatewayTimeout {
		of.open.Add(1)
	}
	key := fmt.Sprintf("%s %d", verb(request), response.StatusCode)
	c.tally.answered(response, max(0, request.ContentLength))
	response.Body = &countedBody{ReadCloser: response.Body, done: func(read int64) {
		c.tally.read(key, time.Since(began), read)
	}}
	if response.StatusCode == http.StatusConflict && (request.Method == http.MethodPut || request.Method == http.MethodPatch) {
		return c.classify(response)
	}
	return response, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (c *counting) WrappedRoundTripper() http.RoundTripper { return c.next }

// classify tells an ownership conflict from a stale write: both are a 409.
func (c *counting) classify(response *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close() // what matters has been read
	if err != nil {
		return nil, fmt.Errorf("reading the answer 409: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if namesOwners(body) {
		c.tally.count(&c.tally.client.Conflicts)
	} else {
		c.tally.count(&c.tally.client.StaleWrites)
	}
	return response, nil
}

func namesOwners(body []byte) bool {
	var status metav1.Status
	if json.Unmarshal(body, &status) != nil || status.Details == nil {
		return false
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			return true
		}
	}
	return false
}

func writes(request *http.Request) bool { return request.Method != http.MethodGet }

func isWatch(request *http.Request) bool {
	value := request.URL.Query().Get("watch")
	return value == "1" || value == "true"
}

// verb is the method, but for what the API server tells apart as well.
func verb(request *http.Request) string {
	switch {
	case isWatch(request):
		return "WATCH"
	case request.Header.Get("Content-Type") == string(types.ApplyYAMLPatchType):
		return "APPLY"
	}
	return request.Method
}

// countedBody tells once how many bytes were read.
type countedBody struct {
	io.ReadCloser
	read int64
	told bool
	done func(read int64)
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.read += int64(n)
	if err != nil {
		b.tell()
	}
	return n, err
}

func (b *countedBody) Close() error {
	err := b.ReadCloser.Close()
	b.tell()
	return err
}

func (b *countedBody) tell() {
	if !b.told {
		b.told = true
		b.done(b.read)
	}
}

// waiting counts the administrator's requests inside Run.Next as waited on purpose: putting a field back is no load.
func waiting(next http.RoundTripper) http.RoundTripper { return waitingTransport{next} }

type waitingTransport struct{ next http.RoundTripper }

func (w waitingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	began := time.Now()
	defer func() { attemptOf(request.Context()).waited.Add(int64(time.Since(began))) }()
	return w.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (w waitingTransport) WrappedRoundTripper() http.RoundTripper { return w.next }
