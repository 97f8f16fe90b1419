package apply_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/transport"

	"coapply.dev/apply"
	"coapply.dev/apply/lanes"
)

// farServer is an API server that is some time away and does one write at a time. It has no objects, as the tests are of the network between.
type farServer struct {
	trip   time.Duration
	livez  int           // the status of the measured path
	writes chan struct{} // holds one
	fails  func(number int) error
	stale  func(number int) bool // which writes are refused as overtaken

	mu               sync.Mutex
	under, most, all int // writes
	probes           []*http.Request
	byManager        map[string]int
	met              string // a manager that had two writes under way
}

func newFarServer(trip time.Duration, livez int) *farServer {
	return &farServer{trip: trip, livez: livez, writes: make(chan struct{}, 1), byManager: map[string]int{}}
}

func (s *farServer) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := s.wait(request, s.trip/2); err != nil {
		return nil, err
	}
	if strings.HasSuffix(request.URL.Path, "/livez") {
		s.mu.Lock()
		s.probes = append(s.probes, request)
		s.mu.Unlock()
		response := &http.Response{StatusCode: s.livez, Status: fmt.Sprint(s.livez), Body: io.NopCloser(strings.NewReader("ok")), Request: request}
		return response, s.wait(request, s.trip/2)
	}
	number := s.begin(request)
	defer s.end(request)
	if s.fails != nil {
		if err := s.fails(number); err != nil {
			return nil, err
		}
	}
	s.writes <- struct{}{}
	err := s.wait(request, 4*time.Millisecond)
	<-s.writes
	if err == nil {
		err = s.wait(request, s.trip/2)
	}
	if err != nil {
		return nil, err
	}
	status, answer := http.StatusOK, fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"web","uid":"uid-1","resourceVersion":"%d"}}`, number)
	if s.stale != nil && s.stale(number) {
		status, answer = http.StatusConflict, `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Conflict","code":409,"message":"the object has been modified"}`
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: request,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}

func (s *farServer) wait(request *http.Request, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-request.Context().Done():
		return request.Context().Err()
	}
}

func (s *farServer) begin(request *http.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	manager := request.URL.Query().Get("fieldManager")
	s.under, s.all = s.under+1, s.all+1
	s.most = max(s.most, s.under)
	if s.byManager[manager]++; s.byManager[manager] > 1 {
		s.met = manager
	}
	return s.all
}

func (s *farServer) count() (under, all, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.under, s.all, s.most
}

func (s *farServer) end(request *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.under--
	s.byManager[request.URL.Query().Get("fieldManager")]--
}

// writeTo has writers of four managers apply to one object, again and again until the context ends.
func (s *farServer) writeTo(ctx context.Context, t *testing.T, set *lanes.Set, writers int, each func(context.Context, *apply.Applier)) {
	t.Helper()
	world := newEmptyWorld(t)
	var all sync.WaitGroup
	for i := range writers {
		applier := world.applierTo(s, apply.Config{FieldManager: fmt.Sprint("m", i%4), Lanes: set})
		all.Go(func() {
			for ctx.Err() == nil {
				each(ctx, applier)
			}
		})
	}
	all.Wait()
	time.Sleep(2 * lanes.ProbeTimeout) // what is measured ends
}

// applierTo returns an applier whose requests go to another server.
func (w *world) applierTo(server http.RoundTripper, config apply.Config) *apply.Applier {
	w.Helper()
	to := &world{World: w.World, host: cmp.Or(w.host, "http://server"), token: w.token, wrap: []transport.WrapperFunc{
		func(http.RoundTripper) http.RoundTripper { return server },
	}}
	return to.applierOf(config)
}

func applyOnce(ctx context.Context, a *apply.Applier) {
	_, _ = a.Apply(ctx, apply.Intent{Config: threeReplicas()})
}

// TestAppliesOverANetwork: as many are under way at once as keep the server busy, none of
// them two of one manager. What is measured costs nothing that a write costs.
func TestAppliesOverANetwork(t *testing.T) {
	for trip, want := range map[time.Duration]int{300 * time.Microsecond: 1, 5 * time.Millisecond: 3, 20 * time.Millisecond: 4} {
		synctest.Test(t, func(t *testing.T) {
			s, set := newFarServer(trip, http.StatusOK), lanes.New()
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			s.writeTo(ctx, t, set, 16, applyOnce)
			if s.most != want || s.met != "" {
				t.Errorf("%v: %d writes at a time, want %d; two of %q", trip, s.most, want, s.met)
			}
			if n := len(s.probes); n < 3 || n > 30 {
				t.Errorf("%v: measured %d times in %d writes", trip, n, s.all)
			}
			if set.Busy() != 0 || s.under != 0 {
				t.Errorf("%d lanes are taken, %d writes are under way", set.Busy(), s.under)
			}
		})
	}
}

// TestProbeIsAsOurRequestsAre, so that it goes the same way, and changes nothing.
func TestProbeIsAsOurRequestsAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFarServer(time.Millisecond, http.StatusOK)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		world := newEmptyWorld(t)
		world.host, world.token = "https://proxy.example.com/k8s/clusters/c-1", "secret"
		set := lanes.New()
		var all sync.WaitGroup
		for i := range 2 {
			applier := world.applierTo(s, apply.Config{FieldManager: fmt.Sprint("m", i), Lanes: set})
			all.Go(func() {
				for ctx.Err() == nil {
					applyOnce(ctx, applier)
				}
			})
		}
		all.Wait()
		time.Sleep(2 * lanes.ProbeTimeout) // what is measured ends
		if len(s.probes) == 0 {
			t.Fatal("nothing was measured")
		}
		p := s.probes[0]
		if p.Method != http.MethodGet || p.Body != nil || p.URL.String() != "https://proxy.example.com/k8s/clusters/c-1/livez" || p.Header.Get("Authorization") != "Bearer secret" || p.Header.Get("Content-Type") != "" {
			t.Errorf("%s %s, %v", p.Method, p.URL, p.Header)
		}
	})
}

// TestProbeIsForbidden: writes go one at a time then, and one line says why.
func TestProbeIsForbidden(t *testing.T) {
	for status, lines := range map[int]int{http.StatusForbidden: 1, http.StatusUnauthorized: 1, http.StatusNotFound: 1, http.StatusServiceUnavailable: 0} {
		synctest.Test(t, func(t *testing.T) {
			var logged []string
			var mu sync.Mutex
			log := funcr.New(func(_, args string) {
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(args, "/livez") {
					logged = append(logged, args)
				}
			}, funcr.Options{})
			s := newFarServer(20*time.Millisecond, status)
			ctx, cancel := context.WithTimeout(logr.NewContext(t.Context(), log), 30*time.Second)
			defer cancel()
			s.writeTo(ctx, t, lanes.New(), 16, applyOnce)
			if s.most != 1 || len(logged) != lines || len(s.probes) == 0 || lines > 0 && len(s.probes) > 1 {
				t.Errorf("%d: %d writes at a time, measured %d times, logged %q", status, s.most, len(s.probes), logged)
			}
		})
	}
}

// TestAppliesEndAtAnyPoint: contexts that end while others wait or are under way, and
// requests that panic, leave a lane that is free, and everybody else's writes as they were.
func TestAppliesEndAtAnyPoint(t *testing.T) {
	for after := time.Duration(0); after < 60*time.Millisecond; after += 1300 * time.Microsecond {
		synctest.Test(t, func(t *testing.T) {
			s, set := newFarServer(20*time.Millisecond, http.StatusOK), lanes.New()
			s.fails = func(number int) error {
				if number%7 == 0 {
					panic("inside")
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			var mu sync.Mutex
			landed, calls := 0, 0
			s.writeTo(ctx, t, set, 8, func(ctx context.Context, a *apply.Applier) {
				defer func() { _ = recover() }()
				mu.Lock()
				calls++
				ends := calls%3 == 0
				mu.Unlock()
				if ends {
					var cancel func()
					ctx, cancel = context.WithTimeout(ctx, after)
					defer cancel()
				}
				if outcome, err := a.Apply(ctx, apply.Intent{Config: threeReplicas()}); err == nil && outcome.Attempts == 1 {
					mu.Lock()
					landed++
					mu.Unlock()
				} else if err != nil && ctx.Err() == nil {
					t.Errorf("%+v, %v", outcome, err)
				}
			})
			if set.Busy() != 0 || s.met != "" || landed < 50 || s.most < 3 {
				t.Errorf("%v: %d lanes are taken, two of %q, %d landed, %d at a time", after, set.Busy(), s.met, landed, s.most)
			}
		})
	}
}

// TestForceIsAlone: what reads before it writes has the lane to itself, whoever else is
// under way.
func TestForceIsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, set := newFarServer(20*time.Millisecond, http.StatusOK), lanes.New()
		ctx, cancel := context.WithCancel(t.Context())
		var ended sync.WaitGroup
		ended.Go(func() { s.writeTo(ctx, t, set, 16, applyOnce) })
		time.Sleep(2 * time.Second)
		_, _, wide := s.count()
		w := newWorld(t)
		w.unseen = true
		w.wrap = append(w.wrap, func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(request *http.Request) (*http.Response, error) {
				if w.Sent() > 0 { // from the read on
					time.Sleep(100 * time.Millisecond)
					if under, _, _ := s.count(); under != 0 {
						t.Errorf("%d others are under way at %s", under, request.Method)
					}
				}
				return next.RoundTrip(request)
			})
		})
		applier := w.applierOf(apply.Config{Policy: force, Lanes: set})
		if err := applies3(ctx, applier); err != nil {
			t.Error(err)
		}
		_, before, _ := s.count()
		time.Sleep(time.Second)
		if _, after, _ := s.count(); after < before+50 || wide < 3 {
			t.Errorf("%d writes after the force, %d at a time before", after-before, wide)
		}
		cancel()
		ended.Wait()
	})
}
