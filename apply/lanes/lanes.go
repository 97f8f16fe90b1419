package lanes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Set is the lanes of a process. It is safe for concurrent use; the zero value is ready.
type Set struct {
	fixed int // the width of all lanes; 0: what the network asks for

	mu    sync.Mutex
	lanes map[Key]*lane
	quiet int       // of lanes: nobody is inside, and the pace is remembered for a moment
	grown bool      // lanes has held more than keptRoom
	trip  roundTrip // to the API server
}

// keptRoom is for how many objects the map may keep its room when nobody is inside:
// a map does not give room back.
const keptRoom = 64

// New returns a set of lanes without writers.
func New() *Set { return &Set{} }

// OfWidth returns a set whose lanes let in up to so many joint writes, whatever the
// network costs: for tests and measurements.
func OfWidth(width int) *Set { return &Set{fixed: width} }

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

// Enter waits until nobody else is inside the lane of the object, and has the lane
// alone. The caller reads and writes the object, under inside, which is ctx and tells that it is inside; and
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
	v, err := s.enter(ctx, object, true, "")
	return v, v.leave, err // short enough to be inlined, so that leave is not allocated
}

// Join is Enter for a write that needs no read, such as an unforced apply. Others who
// joined may be inside as well, as many as keep the API server busy over the network,
// each for another writer: the writes of one writer, a field manager, keep the order of
// their coming.
func (s *Set) Join(ctx context.Context, object Key, writer string) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, false, writer)
	return v, v.leave, err
}

// Alone waits until everybody else who is inside the lane has left, and lets nobody in
// before: for a write that turns out to need a read. It has no effect on who is alone. After an
// error, which wraps that of the context, the caller has left the lane.
//
// inside is the context that Join returned.
func Alone(inside context.Context) error {
	v := visitOf(inside)
	if v == nil || v.left.Load() || !v.lane.yield(v) {
		return nil
	}
	return v.wait()
}

// HandOn leaves a value, such as the object as it was just written, to the one who is alone inside
// next, if they wait already. Nothing is kept for those who come later.
func HandOn(inside context.Context, value any) {
	if v := visitOf(inside); v != nil {
		v.handed = value
	}
}

// Handed returns, once, what the one who was inside just before handed on, or nil. Nobody
// else of this process has been inside since.
func Handed(inside context.Context) any {
	v := visitOf(inside)
	if v == nil {
		return nil
	}
	value := v.received
	v.received = nil
	return value
}

// Overtaken says that the server refused a joint write because another one overtook it:
// the lane becomes narrower for a moment.
func Overtaken(inside context.Context) {
	if v := visitOf(inside); v != nil {
		v.set.mu.Lock()
		defer v.set.mu.Unlock()
		v.lane.pace.slower()
	}
}

// Busy returns how many objects are being written to.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes) - s.quiet
}

// enter returns a visit after an error as well, one that has left.
func (s *Set) enter(ctx context.Context, object Key, alone bool, by string) (*visit, error) {
	for outer := visitOf(ctx); outer != nil; outer = visitOf(outer.Context) {
		if outer.set == s && outer.lane.object == object && !outer.left.Load() {
			return gone(ctx), &ReentryError{Object: object}
		}
	}
	if err := ctx.Err(); err != nil {
		return gone(ctx), waiting(object, err)
	}
	v := s.arrive(ctx, object, alone, by)
	if v.turn == nil {
		return v, nil
	}
	return v, v.wait()
}

// arrive puts a visit behind all others, and lets it in if it may be inside at once.
func (s *Set) arrive(ctx context.Context, object Key, alone bool, by string) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	var v *visit
	l := s.lanes[object]
	if l == nil {
		both := &firstVisit{} // one allocation
		v, l = &both.visit, &both.lane
		l.set, l.object = s, object
		if s.lanes == nil {
			s.lanes = map[Key]*lane{}
		}
		s.lanes[object] = l
		s.grown = s.grown || len(s.lanes) > keptRoom
	} else {
		v = &visit{}
		l.wake()
	}
	v.Context, v.set, v.lane, v.alone, v.by = ctx, s, l, alone, by
	l.waiting.push(v)
	if l.admit(); v.in == &l.waiting {
		v.turn = make(chan struct{})
	}
	return v
}

// remove forgets a lane that nobody is in.
func (s *Set) remove(l *lane) {
	delete(s.lanes, l.object)
	if s.grown && len(s.lanes) == 0 {
		s.lanes, s.grown = nil, false
	}
}

// lingers is for how long the pace of a lane is remembered after its last joint writes: so
// that it is not measured anew after each moment in which nobody is inside.
const lingers = time.Second
