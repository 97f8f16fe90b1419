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
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // its init sets what ours wraps: it has to run first

	"coapply.dev/compare/results"
)

// tally is what the trial's clients counted.
type tally struct {
	mu        sync.Mutex
	client    results.Client
	latencies map[string]*hdrhistogram.Histogram
	protocols []string
	silence   int // requests in a row without an answer
	// answers and failures are of requests that were not cut off by ourselves.
	answers, failures int
}

func newTally() *tally { return &tally{latencies: map[string]*hdrhistogram.Histogram{}} }

// count adds one to a number of the client's.
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

// noAnswer stands where the status code of an answer would.
const noAnswer = "none"

func (t *tally) unanswered(request *http.Request, after time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.record(verb(request)+" "+noAnswer, after)
	if request.Context().Err() == nil { // the end of the context is our doing
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

// silentFor is how many requests in a row got no answer.
func (t *tally) silentFor() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.silence
}

// result returns the counts, and why the trial is void if the clients' side was not as it has to be.
func (t *tally) result() (results.Client, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	client := t.client
	client.Protocol = strings.Join(t.protocols, ", ")
	client.Requests = map[string]results.Requests{}
	for key, histogram := range t.latencies {
		encoded, err := results.EncodeHistogram(histogram)
		if err != nil {
			return client, fmt.Errorf("latencies of %s: %w", key, err)
		}
		client.Requests[key] = results.Requests{Count: int(histogram.TotalCount()), Histogram: encoded}
	}
	if len(t.latencies) > 0 && t.failures >= t.answers {
		return client, fmt.Errorf("the API server could not be reached: %d requests had an answer, %d had none", t.answers, t.failures)
	}
	if client.LimiterWaits > 0 {
		return client, fmt.Errorf("client-go's rate limiter held back %d requests: an arm has to leave QPS as Session.Config has it",
			client.LimiterWaits)
	}
	return client, nil
}

// limiterWaits counts by client-go's own metric, which it observes wherever a request has a rate limiter.
type limiterWaits struct{ before metrics.LatencyMetric }

// Observe is of one request. A token that is there at once takes microseconds.
func (l limiterWaits) Observe(ctx context.Context, verb string, u url.URL, latency time.Duration) {
	if of := attemptOf(ctx); latency > time.Millisecond && of.tally != nil {
		of.tally.count(&of.tally.client.LimiterWaits)
	}
	l.before.Observe(ctx, verb, u, latency)
}

func init() { // before any client exists that would read it meanwhile; metrics.Register serves the first caller only
	metrics.RateLimiterLatency = limiterWaits{metrics.RateLimiterLatency}
}
