package trial

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"k8s.io/client-go/tools/metrics"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // registers, in its init function, the metric that the init function below wraps

	"coapply.dev/compare/results"
)

// tally counts the requests of the trial's clients.
type tally struct {
	mu        sync.Mutex
	client    results.Client
	latencies map[string]*hdrhistogram.Histogram
	protocols []string
	silence   int // number of consecutive requests without a response
	// answers and failures are the numbers of requests with and without a response, except requests that were cancelled by
	// this program.
	answers, failures int
}

func newTally() *tally { return &tally{latencies: map[string]*hdrhistogram.Histogram{}} }

// count increments one of the client's counts.
func (t *tally) count(n *int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	*n++
}

func (t *tally) answered(response *http.Response, sent int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.silence = 0
	t.answers++
	t.client.BytesUp += sent
	if !slices.Contains(t.protocols, response.Proto) {
		t.protocols = append(t.protocols, response.Proto)
	}
	if response.StatusCode == http.StatusTooManyRequests {
		t.client.Throttled++
	}
}

// noAnswer is used in place of a status code if there was no response.
const noAnswer = "none"

func (t *tally) unanswered(request *http.Request, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record(verb(request)+" "+noAnswer, after)
	if request.Context().Err() == nil { // otherwise this program has cancelled the request
		t.silence++
		t.failures++
	}
}

func (t *tally) read(key string, after time.Duration, bytes int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.client.BytesDown += bytes
	t.record(key, after)
}

func (t *tally) record(key string, after time.Duration) {
	histogram, ok := t.latencies[key]
	if !ok {
		histogram = results.NewHistogram()
		t.latencies[key] = histogram
	}
	record(histogram, after)
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
	client.Protocol = strings.Join(t.protocols, ", ")
	client.Requests = map[string]results.Requests{}
	for key, histogram := range t.latencies {
		encoded, err := results.EncodeHistogram(histogram)
		if err != nil {
			return client, fmt.Errorf("encoding the latencies of the requests %s: %w", key, err)
		}
		client.Requests[key] = results.Requests{Count: int(histogram.TotalCount()), Histogram: encoded}
	}
	if len(t.latencies) > 0 && t.failures >= t.answers {
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
