// Package ownership moves the ownership of fields from other field managers to the field manager of
// an Applier, and back: to migrate from get-modify-update to intents, and to rename, merge and split
// managers. No value changes.
//
// # What the package promises
//
//  1. Migrate, Rename and Undo write nothing. They read the object and return a Transfer. Its
//     Moves are the fields that Do moves, Unmoved the fields that stay and the reasons, and
//     Unmatched the managers and paths that matched no field.
//  2. Do is one write, with the uid and resourceVersion that were read. It overwrites no
//     concurrent write, and does not change an object that was deleted or recreated.
//  3. Do moves the fields that Moves returns. After a concurrent write, Do reads the object again.
//     If Do would now move other fields, it moves nothing and returns a StaleWriteError.
//  4. No other manager loses a field: if the API server would not store all managed fields as
//     sent, nothing is written.
//  5. Do returns a Transfer that moves the fields back. Undo returns such a Transfer in another process.
//
// Errors are those of package apply, one typed error for each class.
//
// # What the caller does
//
//  1. Stops the former manager, or makes it leave out the moved fields. Otherwise the former
//     manager's next write makes it an owner again.
//  2. Before Do, shows the Transfer to a person, or checks its Unmoved and Unmatched.
//  3. Applies an intent with all moved fields: the API server deletes those that the intent omits.
//
// Valid: move everything below .spec that a former version of the program wrote by Update:
//
//	transfer, err := ownership.Migrate(ctx, applier, object,
//		ownership.From{Manager: "manager", Paths: []string{".spec"}})
//	if err == nil && len(transfer.Unmatched()) == 0 {
//		undo, err = transfer.Do(ctx)
//	}
//
// Invalid: Migrate in each reconcile. One Migrate for each object is enough. A former manager that
// owns the fields again still writes, and must be stopped.
//
// Invalid: Migrate from a manager that still writes, such as an autoscaler. Its next write takes the
// field, and then the Applier's next apply is a conflict. Leave the field out of the intent.
package ownership

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Transfer is a planned change of the owners of an object's fields, returned by Migrate, Rename or Undo:
// Moves returns the fields that would change their owner. Do carries out the change, and returns a
// Transfer that reverts it. A Transfer is safe for concurrent use.
type Transfer struct {
	applier *apply.Applier
	verb    string
	object  apply.ObjectRef // with the uid of the object that was read
	fields  fieldowners.Transfer
	shown   *found
	undoes  bool // whether this Transfer is an undo: Do skips fields in shown that the applier has given up

	unmatched []string
}

// Moves returns the fields that Do moves. For an undo, these are the fields that the original transfer
// moved; Do skips fields that the new owner has given up since.
func (t *Transfer) Moves() []fieldowners.Handover { return slices.Clone(t.shown.Plan.Moved) }

// Unmoved returns the requested fields that Do does not move, each with the reason.
func (t *Transfer) Unmoved() []fieldowners.Unmoved { return slices.Clone(t.shown.Plan.Unmoved) }

// String returns the transfer as text: one line for each field of Moves and Unmoved, and for each
// text of Unmatched. The text contains no values of fields.
func (t *Transfer) String() string {
	var b strings.Builder
	fields := "fields"
	if len(t.shown.Plan.Moved) == 1 {
		fields = "field"
	}
	fmt.Fprintf(&b, "%s on %v: %d %s to move, %d to stay\n", t.verb, t.object, len(t.shown.Plan.Moved), fields, len(t.shown.Plan.Unmoved))
	for _, m := range t.shown.Plan.Moved {
		fmt.Fprintf(&b, "  move %v\n", m)
	}
	for _, k := range t.shown.Plan.Unmoved {
		fmt.Fprintf(&b, "  stay %v\n", k)
	}
	for _, none := range t.unmatched {
		fmt.Fprintf(&b, "  none %s\n", none)
	}
	return b.String()
}

// Do moves the fields to their new owner, in one write with the uid and resourceVersion that were
// read. So Do overwrites no concurrent write, and does not change another object with the same name.
// The values of the fields stay the same. If there are no fields to move, nothing is sent.
//
// If the managed fields have several apiVersions, Do sends a dry run first. If the API server can no
// longer convert one of these apiVersions, any write would drop all managed fields, so Do writes
// nothing and returns an error.
//
// If the object changes before the write, Do reads the object again. If the same fields would move,
// Do retries a limited number of times. If other fields would move, Do returns a StaleWriteError:
// make and check a new Transfer.
//
// A repeated Do is safe: its write is stale, and the next read shows that the fields have moved.
//
// undo moves the fields back to their former owners, except fields that the applier has given up, with
// the same guarantees.
//
// Errors are *apply.StaleWriteError, *apply.ContendedError, *apply.UIDMismatchError (deleted or
// recreated), *apply.RefusedError, *apply.RetryableError or the error of ctx. If undo is nil, nothing
// has moved. If undo is returned with an error, fields may have moved: the response was lost, or the
// API server stored other managed fields than were sent.
func (t *Transfer) Do(ctx context.Context) (undo *Transfer, err error) {
	state := new(*t.shown) // a copy, as Do may run concurrently
	if t.undoes {
		if state, err = t.read(ctx); err != nil {
			return nil, err
		}
	}
	exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() (err error) {
		inside, leave, err := t.applier.Config().Lanes.Enter(ctx, t.object.Key())
		if err != nil {
			return err
		}
		defer leave()
		undo, state, err = t.try(inside, state)
		return err
	})
	switch {
	case exhausted:
		return nil, &apply.ContendedError{Object: t.object, Attempts: state.Sent, Err: err}
	case state == nil:
		return nil, &apply.StaleWriteError{Object: t.object,
			Err: errors.New("the transfer would now move other fields than Moves shows; nothing was moved, make and check a new transfer")}
	}
	return undo, err
}

// try makes one attempt to write. If the last write was stale, it reads the object again first. used is
// the state of the object that was written, or nil if other fields would move than Moves shows.
func (t *Transfer) try(ctx context.Context, state *found) (undo *Transfer, used *found, err error) {
	if state.stale {
		now, err := t.readAgain(ctx, state.Sent)
		if err != nil {
			return nil, state, err
		}
		if state = now; state == nil {
			return nil, nil, nil
		}
	}
	undo, err = t.write(ctx, state)
	state.stale = apply.IsStaleWrite(err)
	return undo, state, err
}

// readAgain reads the object and plans the transfer again. If the fields have already moved, the result
// is marked as done. If other fields would move than Moves shows, readAgain returns nil and no error.
func (t *Transfer) readAgain(ctx context.Context, sent int) (*found, error) {
	now, err := t.readOnce(ctx)
	if err != nil {
		return nil, err
	}
	now.Sent = sent
	switch {
	case t.undoes || sameMoves(t.shown.Plan.Moved, now.Plan.Moved):
		return now, nil
	case t.shown.Plan.Done(now.Before()) == nil:
		now.Plan, now.done = t.shown.Plan, true
		return now, nil
	}
	return nil, nil
}

// sameMoves reports whether two plans move the same fields between the same managers and apiVersions.
// ToOwned, whether the new owner already owns the field, is ignored.
func sameMoves(a, b []fieldowners.Handover) bool {
	return slices.EqualFunc(a, b, func(a, b fieldowners.Handover) bool {
		a.ToOwned, b.ToOwned = false, false
		return a.String() == b.String() && a.From.APIVersion == b.From.APIVersion && a.To.APIVersion == b.To.APIVersion
	})
}

func (t *Transfer) write(ctx context.Context, state *found) (undo *Transfer, err error) {
	after := state.Before()
	if !state.done {
		after, err = state.Plan.Rewrite(after)
	}
	if err == nil {
		undo, err = t.reverse(state, after)
	}
	if err != nil {
		return nil, &apply.RefusedError{Object: t.object, Err: err}
	}
	if state.done || len(state.Plan.Moved) == 0 {
		return undo, nil
	}
	if err := state.Rehearse(ctx, t.applier.Client(), t.applier.FieldManager(), after); err != nil {
		return nil, t.classify(ctx, err)
	}
	moving := t.object
	moving.ResourceVersion = "" // not known before the response
	t.applier.Config().Steady.Wrote(moving)
	err = state.Store(ctx, t.applier.Client(), t.applier.FieldManager(), after)
	if err == nil {
		return undo, nil
	}
	altered := (*wire.AlteredError)(nil)
	landed := errors.As(err, &altered)
	err = t.classify(ctx, err)
	if landed || apply.ResultOf(err) == "Retryable" || apply.ResultOf(err) == "Cancelled" { // the response may have been lost
		return undo, err
	}
	return nil, err
}

// classify returns the typed error of a write. NotFound means that the object was deleted since
// it was read.
func (t *Transfer) classify(ctx context.Context, err error) error {
	if err = apply.CheckNotFound(ctx, t.applier.Config().LiveReader, t.object, "", err); apierrors.IsNotFound(err) {
		return &apply.UIDMismatchError{Object: t.object, Err: errAbsent}
	}
	return apply.Classify(ctx, t.object, err)
}

// reverse returns the Transfer that undoes the plan of state. after are the managed fields after the plan.
func (t *Transfer) reverse(state *found, after []metav1.ManagedFieldsEntry) (*Transfer, error) {
	back := &Transfer{applier: t.applier, object: t.object, fields: state.Plan.Undo(), undoes: true}
	if verb, isUndo := strings.CutPrefix(t.verb, "Undo of "); isUndo {
		back.verb = verb
	} else {
		back.verb = "Undo of " + t.verb
	}
	plan, err := back.fields.Plan(after, state.Objects)
	back.shown = &found{Rewrite: wire.Rewrite{Plan: plan}}
	return back, err
}

// found is an object as read at one resourceVersion, with the plan of the transfer for this state.
type found struct {
	wire.Rewrite

	done  bool // whether the fields have already moved as planned
	stale bool // whether a write was stale, so that the object has another resourceVersion now
}

var errAbsent = errors.New("the object does not exist")

// read reads the object live and plans the transfer. It retries if the object changes meanwhile.
func (t *Transfer) read(ctx context.Context) (state *found, err error) {
	exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() (err error) {
		state, err = t.readOnce(ctx)
		return err
	})
	if exhausted {
		return nil, &apply.ContendedError{Object: t.object, Err: err}
	}
	return state, err
}

func (t *Transfer) readOnce(ctx context.Context) (*found, error) {
	reader, live := t.applier.Config().LiveReader, wire.Named(t.object.GroupVersionKind, t.object.NamespacedName)
	err := reader.Get(ctx, t.object.NamespacedName, live)
	switch {
	case apierrors.IsNotFound(err) && t.object.UID != "":
		return nil, &apply.UIDMismatchError{Object: t.object, Err: errAbsent}
	case err != nil:
		return nil, apply.Classify(ctx, t.object, fmt.Errorf("reading the object: %w", err))
	case t.object.UID != "" && t.object.UID != live.GetUID():
		return nil, &apply.UIDMismatchError{Object: t.object, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, &apply.RefusedError{Object: t.object, Err: errors.New("nothing was written: LiveReader returned the object without uid or resourceVersion, which the write needs")}
	}
	rewrite, err := wire.PlanRewrite(ctx, reader, live, t.fields)
	if errors.Is(err, wire.ErrChanged) {
		return nil, &apply.StaleWriteError{Object: t.object, Err: err}
	}
	if err != nil {
		return nil, apply.Classify(ctx, t.object, err)
	}
	return &found{Rewrite: *rewrite}, nil
}
