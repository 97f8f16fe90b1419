// Package ownership moves the ownership of fields between field managers: from other managers to the field manager of
// an Applier, and back. Use it to migrate from get-modify-update to intents, and to rename, merge and split field
// managers. No value changes.
//
// # What the package promises
//
//  1. Migrate, Rename and Undo write nothing. They read the object and return a Transfer, which is a plan. Moves
//     returns the fields that Do moves. Unmoved returns the fields that stay, with the reasons. Unmatched returns
//     messages about managers and paths that matched no field.
//  2. Do sends one write, pinned to the uid and resourceVersion that were read. So it overwrites no concurrent write,
//     and does not change an object that was deleted or recreated.
//  3. Do moves exactly the fields that Moves returns. After a concurrent write, it reads the object again. If the
//     fields to move are then different, it moves nothing and returns a StaleWriteError.
//  4. No other manager loses a field. If the API server would store other managed fields than those that Do sends,
//     Do writes nothing.
//  5. Do returns a Transfer that moves the fields back. After the end of the process, Undo builds the same Transfer
//     from the result of Moves, if the caller has saved it.
//
// Errors are typed errors of package apply, a *lanes.ReentryError or the error of the context.
//
// # What the caller does
//
//  1. Stop the former manager, or make it leave out the moved fields. Otherwise its next write makes it an owner again.
//  2. Before Do, show the Transfer to a person, or check its Unmoved and Unmatched.
//  3. After Do, apply an intent with all moved fields: the API server removes fields that the intent omits.
//
// Valid: move everything below .spec that a former version of the program wrote by Update:
//
//	transfer, err := ownership.Migrate(ctx, applier, object,
//		ownership.From{Manager: "manager", Paths: []string{".spec"}})
//	if err == nil && len(transfer.Unmatched()) == 0 {
//		undo, err = transfer.Do(ctx)
//	}
//
// Invalid: Migrate in each reconcile. One Migrate for each object is enough. If the former manager owns the fields
// again, it still writes, and must be stopped.
//
// Invalid: Migrate from a manager that still writes, such as an autoscaler. Its next write takes the field, and then
// the Applier's next apply has a conflict. Leave the field out of the intent instead.
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

// Transfer is a planned change of the owners of an object's fields. Migrate, Rename and Undo return it. Moves returns
// the fields that would change their owner. Do makes the change, and returns a Transfer that reverts it. A Transfer is
// safe for concurrent use.
type Transfer struct {
	applier *apply.Applier
	verb    string
	object  apply.ObjectRef // the object, with the uid that was read
	fields  fieldowners.Transfer
	shown   *found
	undoes  bool // this Transfer is an undo: Do skips fields that the Applier has given up

	unmatched []string
}

// Moves returns the fields that Do moves. For an undo, Moves returns all fields of the original transfer, but Do skips
// the fields that the Applier has given up since then.
func (t *Transfer) Moves() []fieldowners.Handover { return slices.Clone(t.shown.Plan.Moved) }

// Unmoved returns the requested fields that Do does not move, each with the reason.
func (t *Transfer) Unmoved() []fieldowners.Unmoved { return slices.Clone(t.shown.Plan.Unmoved) }

// String returns the Transfer as text, with one line for each field of Moves and Unmoved, and for each message of
// Unmatched. The text contains no values of fields.
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
		fmt.Fprintf(&b, "  unmatched: %s\n", none)
	}
	return b.String()
}

// Do moves the fields to their new owner, in one write that is pinned to the uid and resourceVersion that were read. So
// Do overwrites no concurrent write, and does not change another object with the same name. The values of the fields do
// not change. If there are no fields to move, nothing is sent.
//
// If the managed fields have several apiVersions, Do first sends a dry run. If the API server can no longer convert one
// of these apiVersions, each write would drop all managed fields. Do then writes nothing and returns an error.
//
// If another writer changes the object before the write, Do reads the object again. If the same fields would move, Do
// retries a limited number of times. If other fields would move, Do returns a StaleWriteError: make and check a new
// Transfer.
//
// Repeating a Do is safe: its write is stale, and the next read shows that the fields have already moved.
//
// undo is a Transfer that moves the fields back to their former owners, with the same guarantees. It skips fields that
// the Applier has given up since.
//
// The error is an *apply.StaleWriteError, *apply.ContendedError, *apply.UIDMismatchError (the object was deleted or
// recreated), *apply.RefusedError, *apply.RetryableError, *lanes.ReentryError or the error of ctx. If undo is nil, no field has moved. If Do
// returns both undo and an error, the fields may have moved: the response was lost, or the API server stored other
// managed fields than those that were sent.
func (t *Transfer) Do(ctx context.Context) (undo *Transfer, err error) {
	state := new(*t.shown) // a copy, because Do may be called concurrently
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
			Err: errors.New("nothing was moved: the transfer would now move other fields than Moves lists; make and check a new transfer")}
	}
	return undo, err
}

// try makes one attempt of Do. If the last write was stale, it first reads the object again. The result used is the
// state on which the write was based. If the new plan does not match Moves, try writes nothing, and used is nil.
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

// readAgain reads the object and plans the transfer again. If the fields have already moved, done is set in the result.
// If the new plan does not match Moves, readAgain returns nil without an error.
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

// sameMoves reports whether two plans move the same fields between the same managers and apiVersions. It ignores
// whether the new owner already owned a field before (ToOwned).
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
	moving.ResourceVersion = "" // the resourceVersion after the write is not known yet
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

// classify returns the typed error for a failed write. A NotFound means that the object was deleted after it was read,
// and becomes a UIDMismatchError.
func (t *Transfer) classify(ctx context.Context, err error) error {
	if err = apply.CheckNotFound(ctx, t.applier.Config().LiveReader, t.object, "", err); apierrors.IsNotFound(err) {
		return &apply.UIDMismatchError{Object: t.object, Err: errAbsent}
	}
	return apply.Classify(ctx, t.object, err)
}

// reverse returns the Transfer that undoes the plan of state. The argument named after contains the managed fields that
// the object has after the plan was carried out.
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

// found is the state of an object at one resourceVersion, with the plan of the transfer for this state.
type found struct {
	wire.Rewrite

	done  bool // the fields have already moved as planned
	stale bool // a write was stale, so the object now has another resourceVersion
}

var errAbsent = errors.New("the object does not exist")

// read reads the live object in several apiVersions and plans the transfer. If the object changes between these reads,
// read starts again.
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
		return nil, &apply.RefusedError{Object: t.object, Err: errors.New("nothing was written: LiveReader returned the object without uid or resourceVersion, which the write must contain")}
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
