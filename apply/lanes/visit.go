package lanes

import (
	"context"
	"fmt"
	"sync/atomic"
)

// visit is one caller of Enter or Join, and the context that it gets.
type visit struct {
	context.Context

	lane *lane  // nil if it never came to one
	by   string // the writer, if it joined

	received any // handed on by the visit before
	handed   any // handed on to the next visit

	// Under Set.mu.
	inside  bool          // otherwise it waits, or has left
	turn    chan struct{} // closed when it is let in; nil without a wait
	alone   bool          // shares the lane with nobody
	yielded bool          // it was inside, and waits to be alone

	left atomic.Bool
}

type visitKey struct{}

// Value implements context.Context: the visit is the value by which callees find out that they
// are inside.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// visitOf returns the innermost visit that a context comes from, or nil.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// gone returns a visit that has left.
func gone(ctx context.Context) *visit {
	v := &visit{Context: ctx}
	v.left.Store(true)
	return v
}

// wait returns when the visit is let in. After an error it has left.
func (v *visit) wait() error {
	select {
	case <-v.turn:
		return nil
	case <-v.Done():
		v.leave() // if it was let in meanwhile, the next one is
		return waiting(v.lane.object, v.Err())
	}
}

func waiting(object Key, err error) error {
	return fmt.Errorf("waiting to write %v: %w", object, err)
}

// leave ends a visit, whether it is inside or still waiting.
func (v *visit) leave() {
	if v.left.Swap(true) {
		return
	}
	v.lane.set.mu.Lock()
	defer v.lane.set.mu.Unlock()
	v.lane.leave(v)
}
