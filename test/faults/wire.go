package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"coapply.dev/test/kit"
)

// Plan returns the fault of a request, or nil. It is called for one request at a time.
type Plan func(Request) *Fault

// At returns a Plan with a fault for one request.
func At(of Request, fault Fault) Plan {
	return func(request Request) *Fault {
		if request == of {
			return &fault
		}
		return nil
	}
}

// Request identifies a request of a run. The same request of another run has an equal Request.
type Request struct {
	Key string // method, path and field manager, without the parts that differ from run to run
	N   int    // number of the request among those of the key, from 1
}

func (r Request) String() string { return fmt.Sprintf("%s #%d", r.Key, r.N) }

// IsWrite reports whether the request is a write.
func (r Request) IsWrite() bool { return !strings.HasPrefix(r.Key, http.MethodGet+" ") }

// Wire sits between one manager and the API server. It counts requests and events once Arm has been called.
type Wire struct {
	run  string // the part of names and namespaces that differs from run to run
	dead context.Context
	kill context.CancelFunc

	mu       sync.Mutex
	armed    bool
	plan     Plan
	events   EventPlan
	counts   map[string]int
	requests []Request // in their order
	watched  []Event
	met      []string // faults so far, each with its request or event
	broken   int      // requests without a fault that got no response or an incomplete one
	last     time.Time
	held     chan struct{} // closed by Release
}

// NewWire returns a Wire that lets everything through.
func NewWire(run string) *Wire {
	w := &Wire{run: run, held: make(chan struct{})}
	w.dead, w.kill = context.WithCancel(context.Background())
	return w
}

// Arm resets the counts and sets the plans. Either may be nil.
func (w *Wire) Arm(plan Plan, events EventPlan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.plan, w.events, w.counts = true, plan, events, map[string]int{}
	w.requests, w.watched, w.met, w.broken = nil, nil, nil, 0
}

// Kill cuts the manager off: requests under way are broken, and new ones fail.
func (w *Wire) Kill() { w.kill() }

// Dead returns a channel that Kill closes.
func (w *Wire) Dead() <-chan struct{} { return w.dead.Done() }

// Release passes on the events that are held back.
func (w *Wire) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.held:
	default:
		close(w.held)
	}
}

// Met returns the faults that were injected since Arm, each with its request or event.
func (w *Wire) Met() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.met)
}

// Requests returns the requests since Arm that are counted: see keyOf.
func (w *Wire) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests)
}

// Events returns the events of watches since Arm.
func (w *Wire) Events() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.watched)
}

// Broken returns the number of requests and watches without a fault that got no response or an incomplete one.
func (w *Wire) Broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// Rested returns the time since the last counted request or injected fault.
func (w *Wire) Rested() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// Wrap returns a transport that injects the faults into the requests to next. Pass the method to rest.Config.Wrap.
func (w *Wire) Wrap(next http.RoundTripper) http.RoundTripper {
	return kit.RoundTripper(func(request *http.Request) (*http.Response, error) { return w.roundTrip(next, request) })
}

func (w *Wire) roundTrip(next http.RoundTripper, request *http.Request) (*http.Response, error) {
	if w.dead.Err() != nil {
		return nil, errReset
	}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(w.dead, cancel)
	release := func() { stop(); cancel() }
	fault := w.note(request)
	if fault == nil {
		return w.pass(next, request.WithContext(ctx), release)
	}
	defer release()
	return w.fail(next, request.WithContext(ctx), *fault)
}

// pass sends a request without a fault. It calls release when the request fails or the response's body is closed.
func (w *Wire) pass(next http.RoundTripper, request *http.Request, release func()) (*http.Response, error) {
	answer, err := next.RoundTrip(request)
	if err != nil {
		w.noteBroken(request)
		release()
		return nil, err
	}
	answerBody := answer.Body
	body := io.Reader(readerFunc(func(p []byte) (int, error) {
		n, err := answerBody.Read(p)
		if err != nil && !errors.Is(err, io.EOF) {
			w.noteBroken(request)
		}
		return n, err
	}))
	// Watches of metadata are in protobuf whatever the configuration says: their events pass.
	if isWatch(request) && answer.StatusCode == http.StatusOK && strings.HasPrefix(answer.Header.Get("Content-Type"), "application/json") {
		body = w.watch(request, body)
	}
	answer.Body = &closing{Reader: body, Closer: answerBody, then: release}
	return answer, nil
}

// noteBroken counts a broken request, unless the context of the request was cancelled.
func (w *Wire) noteBroken(request *http.Request) {
	if request.Context().Err() != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken++
}

type readerFunc func([]byte) (int, error)

// Read calls the function.
func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

type closing struct {
	io.Reader
	io.Closer

	then func()
}

func (c *closing) Close() error {
	c.then()
	return c.Closer.Close()
}

func (w *Wire) fail(next http.RoundTripper, request *http.Request, fault Fault) (*http.Response, error) {
	var own *http.Response
	if fault.Sent {
		var err error
		if own, err = next.RoundTrip(request); err != nil {
			return nil, err
		}
		body, err := io.ReadAll(own.Body)
		_ = own.Body.Close()
		if err != nil {
			return nil, err
		}
		own.Body = io.NopCloser(bytes.NewReader(body))
	} else if request.Body != nil {
		_ = request.Body.Close()
	}
	if fault.Kills {
		w.kill()
	}
	if fault.Answer == nil {
		return nil, errReset
	}
	return fault.Answer(request, own), nil
}

// note counts a request, and returns its fault, or nil.
func (w *Wire) note(request *http.Request) *Fault {
	key, counts := w.keyOf(request)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !counts || !w.armed {
		return nil
	}
	w.last = time.Now()
	w.counts[key]++
	r := Request{key, w.counts[key]}
	w.requests = append(w.requests, r)
	if w.plan == nil {
		return nil
	}
	fault := w.plan(r)
	if fault != nil {
		w.met = append(w.met, fault.Name+": "+r.String())
	}
	return fault
}

// keyOf returns the key under which equal requests are counted, and whether the request is counted at all. Not counted are requests for
// Events, because nothing waits for them, and watches, discovery and cluster-wide lists of core kinds, whose number differs between runs.
func (w *Wire) keyOf(request *http.Request) (key string, counts bool) {
	path, query := request.URL.Path, request.URL.Query()
	switch {
	case isWatch(request), strings.HasSuffix(path, "/events"), strings.Contains(path, "/events/"),
		!strings.HasPrefix(path, "/api/") && !strings.HasPrefix(path, "/apis/"), strings.Count(path, "/") < 4:
		return "", false
	}
	key = request.Method + " " + madeNames.ReplaceAllString(strings.ReplaceAll(path, w.run, "*"), "x-HASH")
	if manager := query.Get("fieldManager"); manager != "" {
		key += " of " + manager
	}
	if query.Has("dryRun") {
		key += " (dry run)"
	}
	return key, true
}

// madeNames matches the names of the pods of the Deployment x.
var madeNames = regexp.MustCompile(`x-[0-9a-f]{6,10}-[a-z0-9]{5}\b`)

func isWatch(request *http.Request) bool {
	watches := request.URL.Query().Get("watch")
	return watches == "1" || watches == "true"
}
