package apply

import (
	"context"
	"sync"
	"time"
)

// patience is a context that ends at a time, as that of context.WithDeadline does, and starts a
// timer only when Done is called: a read from a cache that has synced never calls it.
type patience struct {
	context.Context

	until time.Time

	mu      sync.Mutex
	waiting context.Context // nil: nobody waits
	cancel  context.CancelFunc
}

func withPatience(ctx context.Context, timeout time.Duration) *patience {
	return &patience{Context: ctx, until: time.Now().Add(timeout)}
}

// Deadline implements context.Context.
func (p *patience) Deadline() (time.Time, bool) {
	if earlier, ok := p.Context.Deadline(); ok && earlier.Before(p.until) {
		return earlier, true
	}
	return p.until, true
}

// Done implements context.Context.
func (p *patience) Done() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting == nil {
		p.waiting, p.cancel = context.WithDeadline(p.Context, p.until)
	}
	return p.waiting.Done()
}

// Err implements context.Context.
func (p *patience) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch err := p.Context.Err(); {
	case p.waiting != nil:
		return p.waiting.Err()
	case err == nil && !time.Now().Before(p.until):
		return context.DeadlineExceeded
	default:
		return err
	}
}

// end stops the timer, if there is one.
func (p *patience) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cancel != nil {
		p.cancel()
	}
}
