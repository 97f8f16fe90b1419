// Package ownership moves fields of an object from other field managers to that of an Applier,
// and back: to migrate from get-modify-update to intents, and to rename, merge and split
// managers. No value changes.
//
// # What the package promises
//
//  1. Migrate, Rename and Undo write nothing. They read the object and return a Transfer. Its
//     Moves are the fields that Do moves, Unmoved the fields that stay and the reasons, and
//     Unmatched the managers and paths that were not found.
//  2. Do is one write, pinned to the uid and resourceVersion that were read. It overwrites no
//     concurrent write, and does not touch an object that was deleted or recreated.
//  3. Do moves what Moves returns. After a concurrent write it reads again, and returns a
//     StaleWriteError if other fields would move now.
//  4. No other manager loses a field: if the API server would not store all managed fields as
//     sent, nothing is written.
//  5. Do returns the Transfer that undoes it; Undo returns the same in another process.
//
// Errors are those of package apply, one typed error for each class.
//
// # What the caller does
//
//  1. Stops the former manager, or makes it leave out the moved fields. Otherwise its next write
//     makes it an owner again.
//  2. Shows the Transfer to a person, or checks its Unmoved and Unmatched, before Do.
//  3. Applies an intent with all moved fields. The API server deletes the other ones.
//
// Valid, everything below .spec that a former version wrote by Update:
//
//	transfer, err := ownership.Migrate(ctx, applier, object,
//		ownership.From{Manager: "manager", Paths: []string{".spec"}})
//	if err == nil && len(transfer.Unmatched()) == 0 {
//		undo, err = transfer.Do(ctx)
//	}
//
// Invalid: Migrate in each reconcile. It is done once for an object; a manager that owns the
// fields again still writes.
//
// Invalid: Migrate from a manager that stays, such as that of an autoscaler. Its next write
// takes the field, and the Applier's next apply conflicts with it: leave the field out of
// the intent.
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

// Transfer shows fields that are to change owner, and moves them by Do. It is returned by
// Migrate, Rename and Undo, and, as the undo, by Do. It is safe for concurrent use.
type Transfer struct {
	applier *apply.Applier
	verb    string
	object  apply.ObjectRef // with the uid of the object that was read
	fields  fieldowners.Transfer
	shown   *found
	undoes  bool // Do may move a part of shown only: what is left

	unmatched []string
}

// Moves returns the fields that Do moves. Those of an undo are the fields that moved; its Do
// leaves out what the new owner has given up since.
func (t *Transfer) Moves() []fieldowners.Handover { return slices.Clone(t.shown.Plan.Moved) }

// Unmoved returns the fields that were asked for and stay with their owner, with the reason.
func (t *Transfer) Unmoved() []fieldowners.Unmoved { return slices.Clone(t.shown.Plan.Unmoved) }

// String returns the transfer as text, one field a line, followed by what was asked for and not
// found. It contains no values.
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

// Do moves the fields in one write that is pinned to the object's uid and the resourceVersion
// read, so that it overwrites no concurrent write and touches no other object of the name. No
// value changes. If nothing is to be moved, nothing is sent.
//
// If the object's entries are in several apiVersions, a dry run goes first: with an apiVersion
// that the server can no longer convert, any write would drop all managed fields, and Do
// refuses to make it.
//
// If others wrote meanwhile, Do reads again. If the same fields would still move it tries
// again, a limited number of times; otherwise it returns a StaleWriteError, and the caller
// should look again.
//
// Repeating a Do is safe: the read after its stale write finds nothing left to do.
//
// undo gives the fields back to their former owners, as far as the applier still owns them; its
// Do is guarded in the same way.
//
// Errors are *apply.StaleWriteError, *apply.ContendedError, *apply.UIDMismatchError (deleted or
// recreated), *apply.RefusedError, *apply.RetryableError or the context's. Nothing has moved
// then, unless an undo is returned with the error: the answer was lost or is not what was sent,
// and the undo is for what may have been done.
func (t *Transfer) Do(ctx context.Context) (undo *Transfer, err error) {
	state := new(*t.shown) // Do may run twice at a time
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
			Err: errors.New("other fields would move now than were shown; nothing moved, make the transfer anew and look at it")}
	}
	return undo, err
}

// try writes, after another look if the last try was stale, and returns the state that it used.
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

// readAgain returns what is left to do, which is nothing if it was done meanwhile. It returns
// nil without an error if other fields would move than were shown.
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

// sameMoves reports whether the same fields go from the same managers to the same.
// Whether the receiver owns one already may have changed. In another apiVersion a path may be another field.
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
	moving.ResourceVersion = "" // not known until the answer
	t.applier.Config().Steady.Wrote(moving)
	err = state.Store(ctx, t.applier.Client(), t.applier.FieldManager(), after)
	if err == nil {
		return undo, nil
	}
	altered := (*wire.AlteredError)(nil)
	landed := errors.As(err, &altered)
	err = t.classify(ctx, err)
	if landed || apply.ResultOf(err) == "Retryable" || apply.ResultOf(err) == "Cancelled" { // the answer may have been lost
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

// reverse returns the transfer that undoes what the state's plan does.
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

// found is an object at one resourceVersion, and what a transfer does to it.
type found struct {
	wire.Rewrite

	done  bool // the managed fields are as the plan leaves them
	stale bool // a write has failed: the object is at another resourceVersion
}

// errAbsent means that the object does not exist any more.
var errAbsent = errors.New("the object does not exist")

// read reads the object live and plans.
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
		return nil, apply.Classify(ctx, t.object, fmt.Errorf("reading it: %w", err))
	case t.object.UID != "" && t.object.UID != live.GetUID():
		return nil, &apply.UIDMismatchError{Object: t.object, Err: fmt.Errorf("the live object has uid %s", live.GetUID())}
	case live.GetUID() == "" || live.GetResourceVersion() == "":
		return nil, &apply.RefusedError{Object: t.object, Err: errors.New("LiveReader gave it without uid or resourceVersion, so that no write can be guarded")}
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
