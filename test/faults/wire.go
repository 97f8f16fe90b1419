package faults

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"
)

// Plan says what a request meets; nil is that nothing does. It is asked for one request at a time.
type Plan func(Request) *Fault

// At has the n-th request of a key meet a fault, and no other.
func At(of Request, fault Fault) Plan {
	return func(request Request) *Fault {
		if request == of {
			return &fault
		}
		return nil
	}
}

// Request is a request of a run as it is told from the others, and from run to run.
type Request struct {
	Key string // method, path and field manager, without what is another one in each run
	N   int    // which one of this key, from 1
}

func (r Request) String() string { return fmt.Sprintf("%s #%d", r.Key, r.N) }

// IsWrite reports whether the request is no read.
func (r Request) IsWrite() bool { return !strings.HasPrefix(r.Key, http.MethodGet+" ") }

// Wire is the way from one manager to the API server. It counts from when it is armed.
type Wire struct {
	run  string // of names and namespaces: what is another one in each run
	dead context.Context
	kill context.CancelFunc

	mu       sync.Mutex
	armed    bool
	plan     Plan
	events   EventPlan
	counts   map[string]int
	requests []Request // in their order
	watched  []Event
	met      []string // what was done, and to what
	last     time.Time
	held     chan struct{} // closed: an event that is held back goes on
}

// NewWire returns a Wire that lets everything through.
func NewWire(run string) *Wire {
	w := &Wire{run: run, held: make(chan struct{})}
	w.dead, w.kill = context.WithCancel(context.Background())
	return w
}

// Arm forgets what was counted, and does from now on what the plans say. Both may be nil.
func (w *Wire) Arm(plan Plan, events EventPlan) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.armed, w.plan, w.events, w.counts = true, plan, events, map[string]int{}
	w.requests, w.watched, w.met = nil, nil, nil
}

// Kill lets nothing out or in any more, and breaks what is under way.
func (w *Wire) Kill() { w.kill() }

// Dead is closed once the manager is.
func (w *Wire) Dead() <-chan struct{} { return w.dead.Done() }

// Release lets events go on that are held back.
func (w *Wire) Release() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.held:
	default:
		close(w.held)
	}
}

// Met returns what was done so far, and to what.
func (w *Wire) Met() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.met...)
}

// Requests returns the requests since it was armed, without those of lists, watches and events.
func (w *Wire) Requests() []Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Request(nil), w.requests...)
}

// Events returns the events of watches since it was armed.
func (w *Wire) Events() []Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]Event(nil), w.watched...)
}

// Rested returns how long ago the last request was sent.
func (w *Wire) Rested() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(w.last)
}

// Wrap is for rest.Config.Wrap.
func (w *Wire) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) { return w.roundTrip(next, request) })
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

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

// pass lets a request through. Its context ends with the body of the answer.
func (w *Wire) pass(next http.RoundTripper, request *http.Request, release func()) (*http.Response, error) {
	answer, err := next.RoundTrip(request)
	if err != nil {
		release()
		return nil, err
	}
	var body io.Reader = answer.Body
	if isWatch(request) && answer.StatusCode == http.StatusOK {
		body = w.watch(request, answer.Body)
	}
	answer.Body = &closing{Reader: body, Closer: answer.Body, then: release}
	return answer, nil
}

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

// note counts a request, and returns what becomes of it.
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

// keyOf returns what a request is known by. Events are told once, by a recorder that nothing waits for; lists, watches and
// what is read of the server itself are another number in each run.
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

// madeNames are those of the pods of a Deployment "x".
var madeNames = regexp.MustCompile(`x-[0-9a-f]{6,10}-[a-z0-9]{5}\b`)

func isWatch(request *http.Request) bool {
	watches := request.URL.Query().Get("watch")
	return watches == "1" || watches == "true"
}
