package trial

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type answers func(*http.Request) (*http.Response, error)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

func TestARoundTripIsAddedHalfBeforeAndHalfAfter(t *testing.T) {
	var steps []string
	d := &delaying{half: 5 * time.Millisecond,
		wait: func(_ context.Context, d time.Duration) error { steps = append(steps, d.String()); return nil },
		next: answers(func(*http.Request) (*http.Response, error) {
			steps = append(steps, "request")
			return &http.Response{Body: http.NoBody}, nil
		}),
	}
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://host", http.NoBody)
	if _, err := d.RoundTrip(request); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(steps, " "); got != "5ms request 5ms" {
		t.Errorf("steps: %s", got)
	}
}

// A watch is as old as the distance makes it, and no slower: pieces that come together leave together.
func TestAWatchIsDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		d := delay(answers(func(*http.Request) (*http.Response, error) { return &http.Response{Body: reader}, nil }), 20*time.Millisecond)
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host?watch=true", http.NoBody)
		response, err := d.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for range 3 {
			if _, err := io.WriteString(writer, "event"); err != nil {
				t.Fatal(err)
			}
		}
		buffer := make([]byte, 15)
		if _, err := io.ReadFull(response.Body, buffer); err != nil || string(buffer) != "eventeventevent" {
			t.Fatalf("read %q, %v", buffer, err)
		}
		if took := time.Since(began); took != 10*time.Millisecond {
			t.Errorf("three pieces took %s, want half a round trip", took)
		}
		writer.CloseWithError(io.ErrUnexpectedEOF)
		if _, err := response.Body.Read(buffer); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("the end of the stream: %v", err)
		}
		_ = response.Body.Close()
	})
}

func TestDelaysEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	closed := false
	d := delay(answers(func(*http.Request) (*http.Response, error) {
		cancel() // while the answer is under way
		return &http.Response{Body: closing{&closed}}, nil
	}), time.Nanosecond)
	request, _ := http.NewRequestWithContext(ctx, http.MethodPut, "http://host", http.NoBody)
	if _, err := d.RoundTrip(request); !errors.Is(err, context.Canceled) || !closed {
		t.Errorf("%v, body closed: %t", err, closed)
	}
}

type closing struct{ closed *bool }

func (closing) Read([]byte) (int, error) { return 0, io.EOF }
func (c closing) Close() error           { *c.closed = true; return nil }

// Timers are late. A delay that knows it is as long as it was to be.
func TestADelayIsPunctual(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &punctual{wait: func(_ context.Context, d time.Duration) error {
			time.Sleep(d + 600*time.Microsecond)
			return nil
		}}
		var last time.Duration
		for range 100 {
			began := time.Now()
			if err := p.sleep(t.Context(), 5*time.Millisecond); err != nil {
				t.Fatal(err)
			}
			last = time.Since(began)
		}
		if off := last - 5*time.Millisecond; off.Abs() > 10*time.Microsecond {
			t.Errorf("after a hundred, one takes %s", last)
		}
		if err := p.sleep(t.Context(), -time.Second); err != nil { // nothing to wait for
			t.Error(err)
		}
	})
}
