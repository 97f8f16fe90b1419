package trial

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"sync"
	"time"

	"k8s.io/client-go/tools/metrics"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // registers, in its init function, the metric that the init function below wraps

	"coapply.dev/compare/results"
)

// tally counts the requests of the trial's clients.
type tally struct {
	mu      sync.Mutex
	client  results.Client
	silence int // number of consecutive requests without a response
	// answers and failures are the numbers of requests with and without a response, except requests that were cancelled by
	// this program.
	answers, failures int
}

func newTally() *tally { return &tally{client: results.Client{Requests: map[string]int{}}} }

// count increments one of the client's counts.
func (t *tally) count(n *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n++
}

func (t *tally) answered(sent int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silence = 0
	t.answers++
	t.client.BytesUp += sent
}

func (t *tally) unanswered(request *http.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client.Requests[verb(request)+" none"]++
	if request.Context().Err() == nil { // otherwise this program has cancelled the request
		t.silence++
		t.failures++
	}
}

func (t *tally) read(key string, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client.BytesDown += bytes
	t.client.Requests[key]++
}

// silentFor returns the number of consecutive requests without a response.
func (t *tally) silentFor() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.silence
}

// result returns the counts. It returns an error if the API server was unreachable or if a client had a rate limit.
// The trial is then void.
func (t *tally) result() (results.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	client := t.client
	client.Requests = maps.Clone(client.Requests)
	if len(client.Requests) > 0 && t.failures >= t.answers {
		return client, fmt.Errorf("the API server could not be reached: %d requests had an answer, %d had none", t.answers, t.failures)
	}
	if client.LimiterWaits > 0 {
		return client, fmt.Errorf("client-go's rate limiter delayed %d requests: the arm must not change the QPS of Session.Config",
			client.LimiterWaits)
	}
	return client, nil
}

// limiterWaits counts requests that a rate limiter has delayed. client-go reports each such delay to this metric.
type limiterWaits struct{ before metrics.LatencyMetric }

// Observe is called for each request of a client that has a rate limiter. Delays of up to 1 ms do not count.
func (l limiterWaits) Observe(ctx context.Context, verb string, u url.URL, latency time.Duration) {
	if of := attemptOf(ctx); latency > time.Millisecond && of.tally != nil {
		of.tally.count(&of.tally.client.LimiterWaits)
	}
	l.before.Observe(ctx, verb, u, latency)
}

func init() { // before any client exists; metrics.Register cannot be used, because only its first call has an effect
	metrics.RateLimiterLatency = limiterWaits{metrics.RateLimiterLatency}
}
