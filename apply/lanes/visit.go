package lanes

import (
	"context"
	"fmt"
	"sync/atomic"
)

// visit is the stay of one caller in a lane, from the call of Enter or Join to the call of leave. The caller first
// waits in the queue, and is then inside the lane. A visit is also the context that Enter or Join returns.
type visit struct {
	context.Context

	lane *lane  // the lane of the object; nil if the call failed at once
	by   string // the field manager for Join; "" for Enter

	received any // the value that the previous visit has passed to HandOn
	handed   any // the value that this visit has passed to HandOn

	// Set.mu guards these fields.
	inside  bool          // the visit is inside the lane: it does not wait and has not left
	turn    chan struct{} // closed when the visit is let in; nil if it need not wait
	alone   bool          // no other visit may be inside the lane at the same time
	yielded bool          // the visit was inside, and then waited to be alone

	left atomic.Bool
}

type visitKey struct{}

// Value implements context.Context. For visitKey it returns the visit itself.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// visitOf returns the innermost visit in a context, or nil.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// gone returns a visit that is in no lane. Enter and Join return such a visit if they fail at once.
func gone(ctx context.Context) *visit {
	v := &visit{Context: ctx}
	v.left.Store(true)
	return v
}

// wait waits until the visit is let into the lane. If the context ends first, the visit leaves the queue, and wait
// returns an error.
func (v *visit) wait() error {
	select {
	case <-v.turn:
		return nil
	case <-v.Done():
		v.leave() // if this visit was let in at the same moment, the next visit is now let in
		return waiting(v.lane.object, v.Err())
	}
}

func waiting(object Key, err error) error {
	return fmt.Errorf("waiting to write %v, because another writer in this process is writing to the object: %w", object, err)
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
