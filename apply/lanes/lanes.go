package lanes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Set is the lanes of a process. It is safe for concurrent use; the zero value is ready.
type Set struct {
	mu    sync.Mutex
	taken map[Key]*visit // who is inside; the others wait in its ring
	grown bool           // taken has held more than keptRoom
}

// keptRoom is for how many objects the map may keep its room when nobody is inside:
// a map does not give room back.
const keptRoom = 64

// New returns a set of lanes without writers.
func New() *Set { return &Set{} }

// Key names an object, whatever its version or uid is.
type Key struct {
	schema.GroupKind
	types.NamespacedName
}

// String returns the kind and the name, such as "Deployment shop/web".
func (k Key) String() string {
	name := k.Name
	if k.Namespace != "" {
		name = k.NamespacedName.String()
	}
	return strings.TrimSpace(k.Kind + " " + name)
}

// ErrReentry says that a write was begun inside of another write to the same
// object by the same caller, for which it would wait for ever. Nothing was sent.
var ErrReentry = errors.New("write within a write")

// ReentryError is ErrReentry with the object.
type ReentryError struct {
	Object Key
}

func (e *ReentryError) Error() string {
	return fmt.Sprintf("%v: %v is being written by the caller itself, who is inside its lane; leave the lane first, or let that write return",
		ErrReentry, e.Object)
}

// Unwrap returns ErrReentry.
func (e *ReentryError) Unwrap() error { return ErrReentry }

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
func (s *Set) Enter(ctx context.Context, object Key) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object)
	return v, v.leave, err // short enough to be inlined, so that leave is not allocated
}

// Busy returns how many objects are being written to.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.taken)
}

// visit is one caller of Enter, and the context that it gets.
type visit struct {
	context.Context

	lanes  *Set
	object Key
	left   atomic.Bool

	// Under Set.mu: the ring of those who want the lane, in the order of their
	// coming; the first one is inside.
	next, prev *visit
	turn       chan struct{} // closed when the lane is handed over; nil without a wait
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

// enter returns a visit after an error as well, one that has left.
func (s *Set) enter(ctx context.Context, object Key) (*visit, error) {
	v := &visit{Context: ctx, lanes: s, object: object}
	for outer := visitOf(ctx); outer != nil; outer = visitOf(outer.Context) {
		if outer.lanes == s && outer.object == v.object && !outer.left.Load() {
			v.left.Store(true)
			return v, &ReentryError{Object: object}
		}
	}
	if err := ctx.Err(); err != nil {
		v.left.Store(true)
		return v, waiting(object, err)
	}
	if s.queue(v) {
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

func waiting(object Key, err error) error {
	return fmt.Errorf("waiting to write %v: %w", object, err)
}

// queue puts a visit behind all others, and reports whether it is inside at once.
func (s *Set) queue(v *visit) (inside bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.taken[v.object]
	if first != nil {
		v.turn = make(chan struct{})
		v.next, v.prev = first, first.prev
		v.next.prev, v.prev.next = v, v
		return false
	}
	if s.taken == nil {
		s.taken = map[Key]*visit{}
	}
	v.next, v.prev = v, v
	s.taken[v.object] = v
	s.grown = s.grown || len(s.taken) > keptRoom
	return true
}

// leave ends a visit, be it inside or still waiting.
func (v *visit) leave() {
	if v.left.Swap(true) {
		return
	}
	s := v.lanes
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case v.next == v:
		delete(s.taken, v.object)
		if s.grown && len(s.taken) == 0 {
			s.taken, s.grown = nil, false
		}
	case s.taken[v.object] == v:
		s.taken[v.object] = v.next
		close(v.next.turn)
	}
	v.next.prev, v.prev.next = v.prev, v.next
	v.next, v.prev = nil, nil
}
