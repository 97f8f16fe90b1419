package lanes

import (
	"context"
	"fmt"
	"sync/atomic"
)

// visit is one call of Enter or Join. It is also the context that the call returns.
type visit struct {
	context.Context

	lane *lane  // nil if the visit ended before it reached a lane
	by   string // the field manager of a joint write; empty after Enter

	received any // the value that the previous visit passed to HandOn
	handed   any // the value for the next visit, from HandOn

	// Set.mu guards these fields.
	inside  bool          // false: the visit is waiting, or has left
	turn    chan struct{} // closed when the visit is let in; nil if the visit need not wait
	alone   bool          // the visit shares the lane with no other visit
	yielded bool          // the visit was inside, and now waits to be alone

	left atomic.Bool
}

type visitKey struct{}

// Value implements context.Context. visitOf finds the visit by visitKey.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// visitOf returns the innermost visit in the parents of a context, or nil.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// gone returns a visit that has left the lane.
func gone(ctx context.Context) *visit {
	v := &visit{Context: ctx}
	v.left.Store(true)
	return v
}

// wait returns nil when the visit is let in. If the context ends first, wait returns an error, and
// the visit has left the lane.
func (v *visit) wait() error {
	select {
	case <-v.turn:
		return nil
	case <-v.Done():
		v.leave() // this lets the next visit in if this visit was let in meanwhile
		return waiting(v.lane.object, v.Err())
	}
}

func waiting(object Key, err error) error {
	return fmt.Errorf("waiting to write %v: %w", object, err)
}

// leave ends a visit that is inside the lane or still waiting.
func (v *visit) leave() {
	if v.left.Swap(true) {
		return
	}
	v.lane.set.mu.Lock()
	defer v.lane.set.mu.Unlock()
	v.lane.leave(v)
}
