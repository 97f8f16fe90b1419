package lanes

import (
	"context"
	"fmt"
	"sync/atomic"
)

// visit is one call of Enter or Join, until leave is called. It is also the context that the call
// returns.
type visit struct {
	context.Context

	lane *lane  // the lane of the object; nil if the call failed before it reached the lane
	by   string // the field manager of a joint write; empty after Enter

	received any // the value that the previous visit in the lane passed to HandOn
	handed   any // the value that this visit passed to HandOn, for the next visit

	// Set.mu guards these fields.
	inside  bool          // true while the visit is inside the lane; false while it waits, and after it has left
	turn    chan struct{} // closed when the visit is let in; nil if the visit need not wait
	alone   bool          // the visit shares the lane with no other visit
	yielded bool          // the visit was inside, and now waits to be alone

	left atomic.Bool
}

type visitKey struct{}

// Value implements context.Context. For visitKey it returns the visit, so that visitOf can find it.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// visitOf returns the innermost visit among a context and its parents, or nil.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// gone returns a visit that has left the lane already, for a call of Enter or Join that fails at once.
func gone(ctx context.Context) *visit {
	v := &visit{Context: ctx}
	v.left.Store(true)
	return v
}

// wait waits until the visit is let into the lane. If the context ends first, the visit leaves the
// lane, and wait returns an error.
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
	return fmt.Errorf("waiting to write %v, while other writers of the process write to the object: %w", object, err)
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
