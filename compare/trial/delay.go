package trial

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"
)

// delaying is a transport that adds a round-trip time to each request: half of it before the request and half after.
// It also delays the events of a watch by half the round-trip time. A cache is then as stale as with a real network
// delay.
type delaying struct {
	next http.RoundTripper
	half time.Duration
	wait func(context.Context, time.Duration) error
}

func delay(next http.RoundTripper, rtt time.Duration) http.RoundTripper {
	if rtt <= 0 {
		return next
	}
	return &delaying{next: next, half: rtt / 2, wait: (&punctual{wait: sleep}).sleep}
}

func (d *delaying) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	if err := d.wait(ctx, d.half); err != nil {
		return nil, err
	}
	response, err := d.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if err := d.wait(ctx, d.half); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	if isWatch(request) {
		response.Body = newDelayLine(ctx, response.Body, d.half, d.wait)
	}
	return response, nil
}

// WrappedRoundTripper implements RoundTripperWrapper of k8s.io/apimachinery/pkg/util/net.
func (d *delaying) WrappedRoundTripper() http.RoundTripper { return d.next }

// punctual sleeps for the requested time on average. It shortens each sleep by the expected lateness of the timer,
// which can be 1 ms. Otherwise two sleeps would turn a round-trip time of 5 ms into more than 6 ms.
type punctual struct {
	wait func(context.Context, time.Duration) error
	late atomic.Int64 // expected lateness of a timer, in nanoseconds
}

// learning sets how fast the moving average of the timer's lateness changes: the last sleep has the weight 1/learning.
const learning = 8

func (p *punctual) sleep(ctx context.Context, d time.Duration) error {
	due := time.Now().Add(d)
	expected := min(time.Duration(p.late.Load()), max(d, 0)/2)
	if err := p.wait(ctx, d-expected); err != nil {
		return err
	}
	p.late.Store(int64(max(expected+time.Since(due)/learning, 0)))
	return nil
}

// sleep waits for the given duration. It returns an error if the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// delayLine is a response body that delays all data by the same time. It does not limit the rate of the data.
type delayLine struct {
	io.ReadCloser

	wait   func(context.Context, time.Duration) error
	delay  time.Duration
	pieces chan piece
	rest   piece
	ctx    context.Context //nolint:containedctx // the context of the request
	cancel context.CancelFunc
	done   chan struct{}
}

type piece struct {
	data []byte
	err  error
	at   time.Time
}

func newDelayLine(
	ctx context.Context, body io.ReadCloser, delay time.Duration, wait func(context.Context, time.Duration) error,
) *delayLine {
	ctx, cancel := context.WithCancel(ctx)
	l := &delayLine{
		ReadCloser: body, wait: wait, delay: delay, pieces: make(chan piece, 1024), ctx: ctx, cancel: cancel,
		done: make(chan struct{}),
	}
	go l.fill()
	return l
}

func (l *delayLine) fill() {
	defer close(l.done)
	for {
		buffer := make([]byte, 16<<10)
		n, err := l.ReadCloser.Read(buffer)
		select {
		case l.pieces <- piece{data: buffer[:n], err: err, at: time.Now().Add(l.delay)}:
		case <-l.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (l *delayLine) Read(p []byte) (int, error) {
	if len(l.rest.data) == 0 && l.rest.err == nil {
		select {
		case l.rest = <-l.pieces:
		case <-l.ctx.Done():
			return 0, context.Cause(l.ctx)
		}
		if err := l.wait(l.ctx, time.Until(l.rest.at)); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest.data)
	l.rest.data = l.rest.data[n:]
	if len(l.rest.data) == 0 {
		return n, l.rest.err
	}
	return n, nil
}

// Close closes the body and waits until the goroutine that reads the body has ended.
func (l *delayLine) Close() error {
	l.cancel()
	err := l.ReadCloser.Close()
	<-l.done
	return err
}
