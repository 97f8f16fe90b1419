package lanes

import (
	"context"
	"fmt"
	"sync/atomic"
)

// visit is one caller of Enter or Join, and the context that it gets.
type visit struct {
	context.Context

	set  *Set
	lane *lane
	by   string // the writer that it joined for
	left atomic.Bool

	received any // from the visit before
	handed   any // to the next one

	// Under Set.mu.
	alone      bool  // shares the lane with nobody
	in         *line // where it is: inside or waiting
	next, prev *visit
	yielded    bool          // it was inside, and waits to be alone
	turn       chan struct{} // closed when it is let in; nil without a wait
}

// firstVisit is the visit to an object that nobody else is writing to, with its lane.
type firstVisit struct {
	visit
	lane lane
}

type visitKey struct{}

// Value returns the visit itself to those who ask whether they are inside.
func (v *visit) Value(key any) any {
	if _, ok := key.(visitKey); ok {
		return v
	}
	return v.Context.Value(key)
}

// visitOf is the innermost visit that a context is from.
func visitOf(ctx context.Context) *visit {
	v, _ := ctx.Value(visitKey{}).(*visit)
	return v
}

// gone is a visit that has left.
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
		v.leave() // should it be its turn already, the next one has it
		return waiting(v.lane.object, v.Err())
	}
}

func waiting(object Key, err error) error {
	return fmt.Errorf("waiting to write %v: %w", object, err)
}

// leave ends a visit, be it inside or still waiting.
func (v *visit) leave() {
	if v.left.Swap(true) {
		return
	}
	v.set.mu.Lock()
	defer v.set.mu.Unlock()
	v.lane.leave(v)
}

// line is visits in an order.
type line struct {
	first, last *visit
	len         int
}

func (l *line) push(v *visit) { l.insert(v, nil) }

// insert puts a visit before another one, or last.
func (l *line) insert(v, before *visit) {
	after := l.last
	if before != nil {
		after = before.prev
	}
	v.in, v.prev, v.next = l, after, before
	*l.from(after) = v
	*l.to(before) = v
	l.len++
}

func (l *line) remove(v *visit) {
	*l.from(v.prev) = v.next
	*l.to(v.next) = v.prev
	v.in, v.next, v.prev = nil, nil, nil
	l.len--
}

// from is what points to whoever comes after a visit, and to what points to whoever comes before it.
func (l *line) from(v *visit) **visit {
	if v == nil {
		return &l.first
	}
	return &v.next
}

func (l *line) to(v *visit) **visit {
	if v == nil {
		return &l.last
	}
	return &v.prev
}
