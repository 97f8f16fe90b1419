package wire

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"coapply.dev/apply/lanes"
)

// waitedFor is inside a lane, for which another writer waits. It is for a bubble of synctest.
func waitedFor(t *testing.T, set *lanes.Set) (inside context.Context, leave func()) {
	t.Helper()
	inside, leave, err := set.Join(t.Context(), lanes.Key{}, "first")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		if _, leave, err := set.Join(t.Context(), lanes.Key{}, "second"); err == nil {
			leave()
		}
	}()
	synctest.Wait()
	return inside, leave
}

// TestMeasure: the lane is free again however the measurement ends, and only a refusal is logged, once.
func TestMeasure(t *testing.T) {
	answers := func(code int, body io.Reader) transport {
		return func(r *http.Request) (*http.Response, error) {
			if got := r.Method + " " + r.URL.String(); got != "GET http://server/proxy/livez" {
				return nil, fmt.Errorf("it asked %s", got)
			}
			return &http.Response{StatusCode: code, Body: io.NopCloser(body)}, nil
		}
	}
	ok := strings.NewReader("ok")
	for _, test := range []struct {
		reason string
		answer transport
		logged int
	}{
		{"answered", answers(200, ok), 0},
		{"not allowed", answers(403, ok), 1},
		{"not served", answers(404, ok), 1},
		{"unwell", answers(500, ok), 0},
		{"busy", answers(429, ok), 0},
		{"cut off", answers(403, iotest.ErrReader(io.ErrUnexpectedEOF)), 0},
		{"no answer", func(*http.Request) (*http.Response, error) { return nil, io.EOF }, 0},
	} {
		t.Run(test.reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				set, logged := lanes.New(), 0
				log := funcr.New(func(string, string) { logged++ }, funcr.Options{})
				request, err := http.NewRequestWithContext(logr.NewContext(t.Context(), log), http.MethodPatch, "http://server/proxy/api/v1/nodes/a", http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				asked := 0
				r := &recorder{next: transport(func(request *http.Request) (*http.Response, error) {
					asked++
					return test.answer(request)
				})}
				for range 2 {
					inside, leave := waitedFor(t, set)
					lanes.Measure(inside, func(ctx context.Context) (permitted bool, err error) { return r.ping(ctx, request) })
					leave()
					synctest.Wait()
					ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
					_, leave, err := set.Enter(ctx, lanes.Key{})
					if err != nil {
						t.Fatal(err)
					}
					leave()
					cancel()
					time.Sleep(time.Hour)
				}
				if logged != test.logged || asked != 2 {
					t.Errorf("logged %d times, want %d; asked %d times", logged, test.logged, asked)
				}
			})
		})
	}
}

// TestMeasureFromFar: a measurement succeeds if the last write inside the lane and the API server's response each
// take most of ProbeTimeout. The next measurement starts after 60 times the duration of the response. After a failure
// it would start in 10 s.
func TestMeasureFromFar(t *testing.T) {
	const trip = lanes.ProbeTimeout * 6 / 10
	synctest.Test(t, func(t *testing.T) {
		set := lanes.New()
		far := transport(func(request *http.Request) (*http.Response, error) {
			select {
			case <-time.After(trip):
				return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
			case <-request.Context().Done():
				return nil, request.Context().Err()
			}
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://server/api/v1/nodes/a", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		asked, r := 0, &recorder{next: far}
		ping := func(ctx context.Context) (permitted bool, err error) {
			asked++
			return r.ping(ctx, request)
		}
		inside, leave := waitedFor(t, set)
		time.AfterFunc(trip, leave)
		lanes.Measure(inside, ping)
		time.Sleep(2*trip + 59*trip)
		inside, leave = waitedFor(t, set)
		lanes.Measure(inside, ping)
		leave()
		synctest.Wait()
		if asked != 1 {
			t.Errorf("the measurement failed: it was repeated %d times", asked-1)
		}
		time.Sleep(time.Minute) // nobody is in the lane any more
	})
}
