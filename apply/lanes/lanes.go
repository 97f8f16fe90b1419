// Package lanes lets writers of one process take turns at an object, first come, first
// served.
//
// The API server repeats a Server-Side Apply that another write overtakes, internally and
// without a limit: with many writers of one object it is busy with repetitions. Writers of one
// process that take turns cause no repetitions, and no stale writes, to each other.
//
// One write at a time leaves the server idle, though, while an answer and the next request
// are on their way. So a lane has a width: how many joint writes are under way at once. It
// is one on a fast network, and grows with the product of round trip and writes a second.
// Both are measured while writers wait, and nothing is configured.
//
// # Contract
//
//  1. A lane belongs to an object: its group, kind, namespace and name. Writes to different
//     objects do not wait for each other.
//  2. Turns are first come, first served. Waiting ends with the context.
//  3. A caller of Enter has the lane alone, for a read and the write that follows from it. A
//     caller of Join writes without a read, beside other joint writes, up to the width. Nobody
//     passes a caller that waits to be alone.
//  4. Each writer, a field manager, has at most one joint write inside, so that its writes keep
//     their order. Other writers pass those that wait for their own.
//  5. Entering or joining a lane from inside it is a ReentryError: the caller would wait for
//     itself.
//  6. Nothing is kept about an object that nobody is writing to, except, for a second, the pace
//     of a lane in which joint writes waited.
//  7. Writers of other processes are not held up; they still meet ours at the server.
//  8. The caller's transport measures the round trip when Measure returns a Probe. Until the
//     round trip is known, the width is one.
//
// Give one Set to all appliers and updaters of a process.
//
// Valid:
//
//	inside, leave, err := set.Enter(ctx, key)
//	defer leave()
//	if err != nil {
//		return err
//	}
//	return write(inside)
//
// Invalid: waiting, inside a lane, for another goroutine that writes to the same object. Both
// wait until the context ends.
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
	fixed int // the width of all lanes; 0: by measurement

	mu    sync.Mutex
	lanes map[Key]*lane
	quiet int       // how many of lanes are kept for their pace alone
	trip  roundTrip // to the API server
}

// New returns a set of lanes without writers.
func New() *Set { return &Set{} }

// OfWidth returns a set whose lanes have this width, without measuring: for tests and
// benchmarks.
func OfWidth(width int) *Set { return &Set{fixed: width} }

// Key names an object, without its apiVersion and uid.
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

// ErrReentry means that a write was begun inside another write of the same caller to the same
// object, for whose end it would wait for ever. Nothing was sent.
var ErrReentry = errors.New("write within a write")

// ReentryError is ErrReentry with the object.
type ReentryError struct {
	Object Key
}

func (e *ReentryError) Error() string {
	return fmt.Sprintf("%v: %v is being written by the caller itself, who is inside its lane; leave the lane first, or let that write return",
		ErrReentry, e.Object)
}

func (e *ReentryError) Unwrap() error { return ErrReentry }

// Enter waits until nobody else is inside the lane of the object, and keeps others out until
// leave is called. The caller reads and writes the object with the context inside, which is ctx
// marked as inside the lane, and defers leave, so that a panic frees the lane as well. leave
// may be called more than once, and after an error. Call it before a back-off.
//
// Waits of the client within a request are inside the lane: client-go's rate limiter, and the
// Retry-After of a busy server, ten times. Other writers of the object wait that long as well;
// give contexts a deadline.
//
// Waiting ends with the context; the error then wraps its Err. Entering with a context from
// inside the same lane would never end and is a *ReentryError, also in another goroutine: give
// that the context from outside. Entering another object's lane from inside is allowed if all
// callers keep to one order of objects: two that each wait for the lane in which the other is
// inside wait until their contexts end.
func (s *Set) Enter(ctx context.Context, object Key) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, true, "")
	return v, v.leave, err
}

// Join is Enter for a write that needs no read, such as an unforced apply. Other joint writes
// may be inside as well, up to the width, each for another writer: the writes of one writer, a
// field manager, keep their order.
func (s *Set) Join(ctx context.Context, object Key, writer string) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, false, writer)
	return v, v.leave, err
}

// Alone waits until all others inside the lane have left, and lets nobody in: for a joint write
// that turns out to need a read. It returns at once if the caller is alone already. After an
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

// HandOn leaves a value, such as the object as it was just written, to the next visit, if that
// waits already and is alone. Nothing is kept for later visits.
func HandOn(inside context.Context, value any) {
	if v := visitOf(inside); v != nil {
		v.handed = value
	}
}

// Handed returns, once, the value that the visit just before handed on, or nil. Nobody else of
// this process has been inside since.
func Handed(inside context.Context) any {
	v := visitOf(inside)
	if v == nil {
		return nil
	}
	value := v.received
	v.received = nil
	return value
}

// Overtaken tells the lane that the server refused a joint write because another one overtook
// it: the lane becomes narrower for a moment.
func Overtaken(inside context.Context) {
	if v := visitOf(inside); v != nil && v.lane != nil {
		v.lane.set.mu.Lock()
		defer v.lane.set.mu.Unlock()
		v.lane.overtaken()
	}
}

// Busy returns how many objects are being written to.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes) - s.quiet
}

// enter returns a visit also with an error: one that has left.
func (s *Set) enter(ctx context.Context, object Key, alone bool, by string) (*visit, error) {
	for outer := visitOf(ctx); outer != nil; outer = visitOf(outer.Context) {
		if !outer.left.Load() && outer.lane.set == s && outer.lane.object == object {
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
	err := v.wait()
	return v, err
}

// arrive adds a visit behind all others, and lets it in if it need not wait.
func (s *Set) arrive(ctx context.Context, object Key, alone bool, by string) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lanes[object]
	if l == nil {
		l = &lane{set: s, object: object}
		if s.lanes == nil {
			s.lanes = map[Key]*lane{}
		}
		s.lanes[object] = l
	}
	l.wake()
	v := &visit{Context: ctx, lane: l, by: by, alone: alone}
	l.waiting = append(l.waiting, v)
	if l.admit(nil); !v.inside {
		v.turn = make(chan struct{})
	}
	return v
}

// lingers is for how long the pace of a lane is remembered after its last joint write, so that
// it is not measured anew after each moment in which nobody is inside.
const lingers = time.Second
