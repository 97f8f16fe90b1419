package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"coapply.dev/apply/lanes"
)

type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func send(t *testing.T, ctx context.Context, method string, answer transport) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://server/proxy/api/v1/nodes/a", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return RecordExchange(answer).RoundTrip(request)
}

func TestRecordExchange(t *testing.T) {
	for _, test := range []struct {
		reason, method string
		code, recorded int
	}{
		{"an apply", http.MethodPatch, 200, 200},
		{"a creation", http.MethodPatch, 201, 201},
		{"a read", http.MethodGet, 200, 0},
		{"a redirect", http.MethodPatch, 300, 0},
	} {
		ctx, exchange := WithExchange(t.Context())
		response, err := send(t, ctx, test.method, func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: test.code, Body: http.NoBody}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if got := exchange.LastStatus(); got != test.recorded {
			t.Errorf("%s: recorded %d", test.reason, got)
		}
		if first, again := exchange.Requests(), exchange.Requests(); first != 1 || again != 1 {
			t.Errorf("%s: %d, then %d requests", test.reason, first, again)
		}
	}
}

func TestWrappedRoundTripper(t *testing.T) {
	next := &http.Transport{}
	if got := RecordExchange(next).(*recorder).WrappedRoundTripper(); got != next {
		t.Error(got)
	}
}

// TestCalled: what the http.Client says came of a request, and other errors before one.
func TestCalled(t *testing.T) {
	_, exchange := WithExchange(t.Context())
	for i, err := range []error{&url.Error{Op: "Patch", Err: io.EOF}, answerOf(400, "", ""), nil, errors.New("no such kind")} {
		exchange.Called(err)
		if got, want := exchange.Requests(), min(i+1, 3); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

// TestNoConnectionIsNotMeasured: opening one would look like a long round trip.
func TestNoConnectionIsNotMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inside, leave := waitedFor(t, lanes.New())
		ctx, _ := WithExchange(inside)
		if _, err := send(t, ctx, http.MethodPatch, func(*http.Request) (*http.Response, error) { return nil, io.EOF }); !errors.Is(err, io.EOF) {
			t.Error(err)
		}
		measured := false
		lanes.Measure(inside, func(context.Context) (permitted bool, err error) {
			measured = true
			return true, nil
		})
		leave()
		synctest.Wait()
		if !measured {
			t.Error("it was measured before")
		}
	})
}
