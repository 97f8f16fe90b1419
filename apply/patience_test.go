package apply

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestPatience: it ends as a context with a deadline does, whoever looks at what of it first.
func TestPatience(t *testing.T) {
	type key struct{}
	for name, looks := range map[string]func(context.Context){
		"nobody looked":         func(context.Context) {},
		"somebody waited":       func(ctx context.Context) { ctx.Done() },
		"somebody asked":        func(ctx context.Context) { _ = ctx.Err() },
		"a context was derived": func(ctx context.Context) { _, cancel := context.WithCancel(ctx); cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
				defer cancel()
				p := withPatience(parent, time.Second)
				defer p.end()
				looks(p)
				if until, ok := p.Deadline(); !ok || until != time.Now().Add(time.Second) || p.Value(key{}) != "v" || p.Err() != nil {
					t.Errorf("it ends at %v, %v, with %v", until, ok, p.Err())
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if !errors.Is(p.Err(), context.DeadlineExceeded) {
					t.Errorf("after its time: %v", p.Err())
				}
				select {
				case <-p.Done():
				default:
					t.Error("it is not done")
				}
			})
			parent, cancel := context.WithCancel(t.Context())
			p := withPatience(parent, time.Hour)
			defer p.end()
			looks(p)
			cancel()
			if <-p.Done(); !errors.Is(p.Err(), context.Canceled) {
				t.Errorf("its parent ended: %v", p.Err())
			}
		})
	}
	later, cancelLater := context.WithTimeout(t.Context(), 2*time.Hour)
	defer cancelLater()
	if until, _ := withPatience(later, time.Hour).Deadline(); time.Until(until) > time.Hour {
		t.Errorf("its parent ends later, and it ends at %v", until)
	}
	earlier, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	p := withPatience(earlier, time.Hour)
	want, _ := earlier.Deadline()
	if until, ok := p.Deadline(); !ok || until != want {
		t.Errorf("its parent ends at %v, and it at %v", want, until)
	}
	done := p.Done()
	if p.Done() != done {
		t.Error("it has two channels")
	}
	p.end()
	select {
	case <-done:
	default:
		t.Error("its end does not end what waits")
	}
	if !errors.Is(p.Err(), context.Canceled) {
		t.Errorf("at its end: %v", p.Err())
	}
}

// TestPatienceAfterItsParent: the parent's end is told, though the time is over as well.
func TestPatienceAfterItsParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parent, cancel := context.WithCancel(t.Context())
		p := withPatience(parent, time.Second)
		cancel()
		if !errors.Is(p.Err(), context.Canceled) {
			t.Errorf("at once: %v", p.Err())
		}
		time.Sleep(2 * time.Second)
		if !errors.Is(p.Err(), context.Canceled) {
			t.Errorf("later: %v", p.Err())
		}
	})
}

// TestPatienceCostsNoTimer: a read that waits for nothing takes one allocation for it.
func TestPatienceCostsNoTimer(t *testing.T) {
	ctx := t.Context()
	var kept *patience
	if n := testing.AllocsPerRun(100, func() {
		p := withPatience(ctx, time.Second)
		kept = p
		p.end()
	}); n > 1 {
		t.Errorf("it takes %v allocations", n)
	}
	if kept.Err() != nil {
		t.Error(kept.Err())
	}
}
