package apply

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Lanes let one writer at a time write to an object, first come, first served.
// Give one to all appliers and updaters of a process: what they write to one object
// does not make the API server repeat it then, and is never a stale write because
// of each other. Writes to different objects do not wait for each other. Only the
// other processes' writes still meet ours at the server.
//
// An object is known by its group, kind, namespace and name, whatever its version
// or uid is. Nothing is kept of an object that nobody is writing to. Lanes are safe
// for concurrent use; the zero value is ready.
type Lanes struct {
	mu    sync.Mutex
	taken map[objectKey]*visit // who is inside; the others wait in its ring
	grown bool                 // taken has held more than keptRoom
}

// keptRoom is for how many objects the map may keep its room when nobody is inside:
// a map does not give room back.
const keptRoom = 64

// NewLanes gives a set of lanes, one a process.
func NewLanes() *Lanes { return &Lanes{} }

// objectKey names an object, in whatever version.
type objectKey struct {
	schema.GroupKind
	types.NamespacedName
}

func keyOf(object ObjectRef) objectKey {
	return objectKey{object.GroupKind(), object.NamespacedName}
}

// Enter waits until nobody else is inside the lane of the object. The caller reads
// and writes the object, under inside, which is ctx and tells that it is inside; and
// then calls leave, by defer, so that a panic frees the lane as well. leave may be
// called more than once. Who backs off leaves the lane first.
//
// What a client waits for within a request it waits for inside: client-go's rate
// limiter, and the Retry-After of a busy server, ten times. Writers of the same object
// wait that long as well, and would meet the same limits; give contexts a deadline.
//
// Waiting ends with the context: the error wraps its Err then. Entering with a
// context that came from inside the same lane would wait for itself, and is a
// *ReentryError, in a goroutine of its own as well: give that one the context from
// outside. Entering another object's lane from inside is allowed, and needs an order
// that everybody keeps to: two that are each inside of what the other one waits for
// wait until their contexts end.
func (l *Lanes) Enter(ctx context.Context, object ObjectRef) (inside context.Context, leave func(), err error) {
	v, err := l.enter(ctx, object)
	return v, v.leave, err // short enough to be inlined, so that leave is not allocated
}

// visit is one caller of Enter, and the context that it gets.
type visit struct {
	context.Context

	lanes  *Lanes
	object objectKey
	left   atomic.Bool

	// Under Lanes.mu: the ring of those who want the lane, in the order of their
	// coming; the first one is inside.
	next, prev *visit
	turn       chan struct{} // closed when the lane is handed over; nil without a wait
}

type visitKey struct{}

// Value gives the visit itself to those who ask whether they are inside.
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

// enter gives a visit after an error as well, one that has left.
func (l *Lanes) enter(ctx context.Context, object ObjectRef) (*visit, error) {
	v := &visit{Context: ctx, lanes: l, object: keyOf(object)}
	for outer := visitOf(ctx); outer != nil; outer = visitOf(outer.Context) {
		if outer.lanes == l && outer.object == v.object && !outer.left.Load() {
			v.left.Store(true)
			return v, &ReentryError{Object: object}
		}
	}
	if err := ctx.Err(); err != nil {
		v.left.Store(true)
		return v, waiting(object, err)
	}
	if l.queue(v) {
		return v, nil
	}
	select {
	case <-v.turn:
		return v, nil
	case <-ctx.Done():
		v.leave() // should it be its turn already, the next one has it
		return v, waiting(object, ctx.Err())
	}
}

func waiting(object ObjectRef, err error) error {
	return fmt.Errorf("waiting to write %v: %w", object, err)
}

// queue puts a visit behind all others, and tells whether it is inside at once.
func (l *Lanes) queue(v *visit) (inside bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := l.taken[v.object]
	if first != nil {
		v.turn = make(chan struct{})
		v.next, v.prev = first, first.prev
		v.next.prev, v.prev.next = v, v
		return false
	}
	if l.taken == nil {
		l.taken = map[objectKey]*visit{}
	}
	v.next, v.prev = v, v
	l.taken[v.object] = v
	l.grown = l.grown || len(l.taken) > keptRoom
	return true
}

// leave ends a visit, be it inside or still waiting.
func (v *visit) leave() {
	if v.left.Swap(true) {
		return
	}
	l := v.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case v.next == v:
		delete(l.taken, v.object)
		if l.grown && len(l.taken) == 0 {
			l.taken, l.grown = nil, false
		}
	case l.taken[v.object] == v:
		l.taken[v.object] = v.next
		close(v.next.turn)
	}
	v.next.prev, v.prev.next = v.prev, v.next
	v.next, v.prev = nil, nil
}
