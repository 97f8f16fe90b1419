// Package lanes makes the writers of one process take turns at writing to an object, first come, first
// served.
//
// If another write changes the object during a Server-Side Apply, the API server repeats the apply
// internally, without a limit. So many concurrent writers of one object keep the API server busy with
// repetitions. Writers of one process that take turns cause no repetitions and no stale writes to each
// other.
//
// With one write at a time, the API server is idle while a response and the next request are on the
// network. So a lane has a width: the number of joint writes that may be in flight at the same time.
// The width is 1 on a fast network, and grows with the product of the round-trip time and the writes
// per second. Both are measured while writers wait. There is no setting.
//
// # Contract
//
//  1. Each object has one lane. The lane is identified by the object's group, kind, namespace and name.
//     Writes to different objects do not wait for each other.
//  2. Turns are first come, first served. A wait ends when the context ends.
//  3. A caller of Enter is alone in the lane, for a read and the write that depends on the read. A
//     caller of Join writes without a read, at the same time as other joint writes, up to the width.
//     Nobody passes a caller that waits to be alone.
//  4. Each field manager has at most one joint write in the lane, so that its writes keep their order.
//     Other field managers may pass a write that waits for an earlier write of its own field manager.
//  5. A caller that is inside a lane and enters or joins the same lane again gets a ReentryError,
//     because the caller would wait for itself.
//  6. The Set keeps no state of an object that nobody writes to. There is one exception: the pace of a
//     lane in which joint writes waited is kept for one second.
//  7. Writers of other processes do not wait for the lane. Their writes can still conflict with the
//     writes of this process.
//  8. The caller's transport measures the round-trip time when Measure returns a Probe. Until the
//     round-trip time is known, the width is 1.
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
// Invalid: a goroutine inside a lane that waits for another goroutine that writes to the same object.
// Both goroutines wait until their contexts end.
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

// Set holds all lanes of a process. It is safe for concurrent use. The zero value is ready to use.
type Set struct {
	fixed int // the width of all lanes; 0 means that the width is measured

	mu    sync.Mutex
	lanes map[Key]*lane
	quiet int       // the number of lanes without writers, kept only because of their pace
	trip  roundTrip // the round-trip time to the API server
}

// New returns a Set whose lanes measure their width.
func New() *Set { return &Set{} }

// OfWidth returns a Set whose lanes have a fixed width, for tests and benchmarks.
func OfWidth(width int) *Set { return &Set{fixed: width} }

// Key identifies an object by its group, kind, namespace and name, without apiVersion and uid.
type Key struct {
	schema.GroupKind
	types.NamespacedName
}

// String returns the kind, namespace and name of the object, such as "Deployment shop/web".
func (k Key) String() string {
	name := k.Name
	if k.Namespace != "" {
		name = k.NamespacedName.String()
	}
	return strings.TrimSpace(k.Kind + " " + name)
}

// ErrReentry means that a caller inside the lane of an object has called Enter or Join for the same
// object. The caller would wait for itself without end, and nothing was sent.
var ErrReentry = errors.New("write within a write")

// ReentryError wraps ErrReentry, and names the object.
type ReentryError struct {
	Object Key
}

func (e *ReentryError) Error() string {
	return fmt.Sprintf("%v: the caller is inside the lane of %v already and would wait for itself; call leave, or let the outer write return, before this write",
		ErrReentry, e.Object)
}

func (e *ReentryError) Unwrap() error { return ErrReentry }

// Enter waits until nobody else is inside the lane of the object. It keeps all others out until leave
// is called. The returned context inside marks the caller as inside the lane: use it for the read and
// the write of the object. Call leave with defer, so that a panic frees the lane as well. leave may be
// called more than once, and also after an error. Call leave before a back-off.
//
// The lane stays occupied while the client waits within a request: for client-go's rate limiter, and
// for the Retry-After of a busy API server, up to ten times. Other writers of the object wait as well.
// So give contexts a deadline.
//
// If the context ends during the wait, Enter returns an error that wraps the context's error. If ctx is
// already inside the same lane, also in another goroutine, Enter returns a *ReentryError: give that
// goroutine a context from outside the lane. A caller inside one lane may enter the lane of another
// object only if all callers enter lanes in the same order of objects. Otherwise two callers can wait
// for each other until their contexts end.
func (s *Set) Enter(ctx context.Context, object Key) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, true, "")
	return v, v.leave, err
}

// Join is like Enter, but for a write that needs no read, such as an unforced apply. Other joint writes
// may be in the lane at the same time, up to the width, but only one for each writer. writer is the
// name of a field manager, whose writes keep their order.
func (s *Set) Join(ctx context.Context, object Key, writer string) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, false, writer)
	return v, v.leave, err
}

// Alone is for the caller of Join whose write turns out to need a read. It waits until all others
// inside the lane have left, and lets nobody else in. Alone returns at once if the caller is alone
// already. An error wraps the context's error, and means that the caller has left the lane. inside is
// the context that Join returned.
func Alone(inside context.Context) error {
	v := visitOf(inside)
	if v == nil || v.left.Load() || !v.lane.yield(v) {
		return nil
	}
	return v.wait()
}

// HandOn passes a value, such as the object as just written, to the next caller of Enter in the lane.
// The value is dropped unless that caller is waiting already and is the next one inside.
func HandOn(inside context.Context, value any) {
	if v := visitOf(inside); v != nil {
		v.handed = value
	}
}

// Handed returns the value that the previous caller in the lane passed to HandOn, or nil. Only the
// first call returns the value. No other writer of this process was inside the lane in between.
func Handed(inside context.Context) any {
	v := visitOf(inside)
	if v == nil {
		return nil
	}
	value := v.received
	v.received = nil
	return value
}

// Overtaken reports that the API server rejected the caller's joint write because another write changed
// the object first. The lane then becomes narrower for a moment.
func Overtaken(inside context.Context) {
	if v := visitOf(inside); v != nil && v.lane != nil {
		v.lane.set.mu.Lock()
		defer v.lane.set.mu.Unlock()
		v.lane.overtaken()
	}
}

// Busy returns the number of lanes in which writers are inside or waiting.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes) - s.quiet
}

// enter implements Enter and Join; by is the writer of Join. With an error, the visit has left the
// lane.
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

// arrive adds a visit to the end of the object's queue, and lets the visit in if it need not wait.
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

// lingers is how long the pace of a lane is used after the last joint write, so that a short time
// without writers does not discard the measurements.
const lingers = time.Second
