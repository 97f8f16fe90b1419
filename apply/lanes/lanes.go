// Package lanes serialises the writes of one process to one object, first come, first served.
//
// If another write changes the object while the API server processes an apply, the API server repeats the apply
// internally, without a limit. Many concurrent writers of one object therefore keep the API server busy with
// repetitions. If the writers of a process take turns, they cause no repetitions, and do not make each other's writes
// stale.
//
// With only one write at a time, the API server is idle while a response and the next request are on the network. So
// each lane has a width: the number of joint writes (see Join) that may be in flight at the same time. The width is 1
// on a fast network, and until the round-trip time is known. It grows with the measured round-trip time, and with the
// measured number of writes per second. There is nothing to configure.
//
// # Contract
//
//  1. Each object has one lane, which is identified by the object's group, kind, namespace and name. Writes to
//     different objects do not wait for each other.
//  2. Turns are first come, first served. A wait ends when the context ends.
//  3. A caller of Enter is alone in the lane, for a read and a write that depends on the read. A caller of Join writes
//     without a read. Nobody overtakes a caller that waits to be alone.
//  4. Each field manager has at most one joint write in the lane, so that its writes keep their order. If its next
//     write has to wait for this reason, writes of other field managers may overtake it.
//  5. A Set keeps no state of objects without writers, with two exceptions: the measurements of up to 1024 lanes in which
//     joint writes have waited, which are used for one second, and the measurements of up to 1024 objects to which other
//     processes write.
//  6. The writers of other processes do not use the lane. Their writes can still conflict with the writes of this
//     process. If two or more other processes write to the object, and applies take long, a process pauses between its
//     writes (see Pace).
//
// Use the same Set for all Appliers and Updaters of a process.
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
// Invalid: a goroutine inside a lane waits for another goroutine that writes to the same object. Both wait until their
// contexts end.
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

// Set contains one lane, which is a queue of writers, for each object to which a process writes. It is safe for concurrent
// use. The zero value is usable.
type Set struct {
	fixed int // the width of all lanes; 0 if the width is measured

	mu    sync.Mutex
	lanes map[Key]*lane // the lanes that at least one writer uses or waits for
	paces map[Key]pace  // the measurements of lanes that were removed
	trip  roundTrip     // the round-trip time to the API server

	managers map[string]bool // the field managers of this process
	crowds   map[Key]crowd   // the objects to which other processes write, at most maxPaces
}

// New returns a Set that measures the round-trip time and the duration of writes, and adapts the number of concurrent writes
// to one object.
func New() *Set { return &Set{} }

// OfWidth returns a Set, for tests and benchmarks, whose lanes always let in up to width callers of Join at once.
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

// ErrReentry is wrapped by each ReentryError.
var ErrReentry = errors.New("nested write to the same object")

// ReentryError is the error of Enter and Join for a caller that is already inside the lane of Object: the caller would
// have waited for itself. Nothing was sent. It wraps ErrReentry.
type ReentryError struct {
	Object Key
}

func (e *ReentryError) Error() string {
	return fmt.Sprintf("%v: the outer write to %v has not ended, and the inner write would wait for the outer write forever; call leave or let the outer write return before the inner write",
		ErrReentry, e.Object)
}

func (e *ReentryError) Unwrap() error { return ErrReentry }

// Enter waits until nobody else is inside the lane of the object, and keeps all others out until leave is called. Use
// the returned context for the read and the write of the object: it marks the caller as inside the lane. Defer the call
// of leave, so that a panic also frees the lane. Also call leave before a back-off. leave may be called several times,
// and also after an error.
//
// The lane stays occupied while the client waits for its rate limiter, or for the Retry-After of a busy API server (up
// to ten times). Meanwhile, the other writers of the object wait as well. So give contexts a deadline.
//
// If the context ends during the wait, Enter returns an error that wraps the error of the context. If the given context
// is already inside the same lane, Enter returns a *ReentryError, even in another goroutine. Give another goroutine a
// context from outside the lane. A caller inside one lane may enter the lane of another object only if all callers
// enter these lanes in the same order. Otherwise two callers can wait for each other until their contexts end.
func (s *Set) Enter(ctx context.Context, object Key) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, true, "")
	return v, v.leave, err
}

// Join is like Enter, but for a write that needs no earlier read, such as an unforced apply. The lane lets in several
// callers of Join (see the width in the package comment), but at most one for each writer (a field manager).
func (s *Set) Join(ctx context.Context, object Key, writer string) (inside context.Context, leave func(), err error) {
	v, err := s.enter(ctx, object, false, writer)
	return v, v.leave, err
}

// Alone makes a caller of Join the only caller inside the lane. Call Alone if the write needs a read after all, and
// pass the context that Join returned. Alone waits until all others inside the lane have left, and lets nobody else in.
// If the caller is already alone, it returns at once. An error wraps the error of the context, and means that the
// caller is no longer inside the lane.
func Alone(inside context.Context) error {
	v := visitOf(inside)
	if v == nil || v.left.Load() || !v.lane.yield(v) {
		return nil
	}
	return v.wait()
}

// HandOn passes a value, such as the object in the response to the write, to the next caller of Enter in the lane. The
// next caller gets the value only if it is already waiting.
func HandOn(inside context.Context, value any) {
	if v := visitOf(inside); v != nil {
		v.handed = value
	}
}

// Handed returns the value that the previous caller inside the lane passed to HandOn, or nil. Only the first call
// returns the value. No other writer of this process was inside the lane between the previous caller and this caller.
func Handed(inside context.Context) any {
	v := visitOf(inside)
	if v == nil {
		return nil
	}
	value := v.received
	v.received = nil
	return value
}

// Overtaken must be called by a caller of Join whose write the API server refused because another write had changed the
// object first. For some time, the lane then lets in fewer callers of Join at once.
func Overtaken(inside context.Context) {
	v := visitOf(inside)
	if v == nil || v.left.Load() {
		return
	}
	v.lane.set.mu.Lock()
	defer v.lane.set.mu.Unlock()
	if v.lane.width() > 1 { // otherwise the gap would soon be so long that the lane would stay narrow for a long time
		v.lane.pace.gap *= 2
	}
}

// Busy returns the number of lanes that at least one writer uses or waits for.
func (s *Set) Busy() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lanes)
}

// enter implements Enter and Join. For Join, alone is false, and by is the name of the field manager. If enter returns
// an error, the visit is not in the lane.
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

// arrive appends a new visit to the queue of the object's lane. The visit enters the lane at once if nothing blocks the lane.
func (s *Set) arrive(ctx context.Context, object Key, alone bool, by string) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lanes == nil {
		s.lanes, s.paces = map[Key]*lane{}, map[Key]pace{}
	}
	l := s.lanes[object]
	if l == nil {
		l = &lane{set: s, object: object}
		if before, kept := s.paces[object]; kept && time.Since(before.last) < lingers {
			l.pace = before
		}
		delete(s.paces, object)
		s.lanes[object] = l
	}
	if by != "" {
		s.uses(by)
	}
	v := &visit{Context: ctx, lane: l, by: by, alone: alone}
	l.waiting = append(l.waiting, v)
	if l.admit(nil); !v.inside {
		v.turn = make(chan struct{})
	}
	return v
}

const (
	lingers  = time.Second // the time for which the measurements of a lane are used after its last joint write
	maxPaces = 1024        // the maximum number of removed lanes whose measurements a Set keeps
)
