// Package ownership moves the ownership of fields between field managers: from other managers to the field manager of
// an Applier, and back. Use it to migrate from get-modify-update to intents, and to rename, merge and split field
// managers. No value changes. Release gives up all fields that the Applier's field manager owns by Apply.
//
// # What the package promises
//
//  1. Migrate, Rename and Undo write nothing. They read the object and return a Transfer, which is a plan.
//  2. Transfer.Do sends one write, pinned to the uid and resourceVersion that were read. It moves exactly the fields
//     that Moves returns.
//  3. No other manager loses a field. If the apiVersion of an entry differs from that of the object, a dry run first
//     checks that the API server would store the managed fields as sent. If not, Do writes nothing.
//  4. Do returns a Transfer that moves the fields back. After the end of the process, Undo builds the same Transfer
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Transfer is a planned change of the owners of an object's fields. It is safe for concurrent use.
type Transfer struct {
	applier *apply.Applier
	verb    string
	object  apply.ObjectRef // the object, with the uid that was read
	fields  fieldowners.Transfer
	shown   rewrite // the plan that Moves and Unmoved return
	undoes  bool    // this Transfer is an undo: Do skips fields that the Applier has given up

	unmatched []string
}

// Moves returns the fields that Do moves. For an undo, Moves returns all fields of the original transfer, but Do skips
// the fields that the Applier has given up since then.
func (t *Transfer) Moves() []fieldowners.Handover { return slices.Clone(t.shown.plan.Moved) }

// Unmoved returns the requested fields that Do does not move, each with the reason.
func (t *Transfer) Unmoved() []fieldowners.Unmoved { return slices.Clone(t.shown.plan.Unmoved) }

// String returns the Transfer as text, with one line for each field of Moves and Unmoved, and for each message of
// Unmatched. The text contains no values of fields.
func (t *Transfer) String() string {
	var b strings.Builder
	plan, fields := t.shown.plan, "fields"
	if len(plan.Moved) == 1 {
		fields = "field"
	}
	fmt.Fprintf(&b, "%s on %v: %d %s to move, %d to stay\n", t.verb, t.object, len(plan.Moved), fields, len(plan.Unmoved))
	for _, m := range plan.Moved {
		fmt.Fprintf(&b, "  move %v\n", m)
	}
	for _, k := range plan.Unmoved {
		fmt.Fprintf(&b, "  stay %v\n", k)
	}
	for _, none := range t.unmatched {
		fmt.Fprintf(&b, "  unmatched: %s\n", none)
	}
	return b.String()
}

// Do moves the fields to their new owner, in one write that is pinned to the uid and resourceVersion that were read. If
// there are no fields to move, nothing is sent.
//
// If the apiVersion of a managed fields entry differs from that of the object, Do first sends a dry run. If the API
// server can no longer convert the entry, it would not store the new managed fields. Do then returns an error instead.
//
// If another writer changes the object before the write, Do reads the object again. If the same fields would move, Do
// retries a limited number of times. If other fields would move, Do returns a StaleWriteError: make and check a new
// Transfer. It is safe to call Do again: if a read shows that the fields have already moved, Do writes nothing.
//
// undo is a Transfer that moves the fields back to their former owners, with the same guarantees. It skips fields that
// the Applier has given up since.
//
// The error is an *apply.StaleWriteError, *apply.ContendedError, *apply.UIDMismatchError (the object was deleted or
// recreated), *apply.RefusedError, *apply.RetryableError, *lanes.ReentryError or the error of ctx. If undo is nil, no
// field has moved. If Do returns both undo and an error, the fields may have moved: the response was lost, or the
// managed fields that the API server stored differ from those that were sent.
func (t *Transfer) Do(ctx context.Context) (undo *Transfer, err error) {
	sent, state := 0, new(t.shown) // a copy, because Do may be called concurrently
	if t.undoes {
		state = nil
	}
	exhausted, err := wire.Tries(ctx, apply.IsStaleWrite, func() (err error) {
		ctx, leave, err := t.applier.Config().Lanes.Enter(ctx, t.object.Key())
		defer leave()
		if err == nil && state == nil {
			state, err = t.readAgain(ctx)
		}
		if err != nil {
			return err
		}
		undo, err = t.write(ctx, state)
		sent += state.sent
		state = nil // another attempt, which follows only a stale write, reads the object again
		return err
	})
	switch {
	case exhausted:
		return nil, &apply.ContendedError{Object: t.object, Attempts: sent, Err: err}
	case errors.Is(err, errOtherMoves):
		return nil, &apply.StaleWriteError{Object: t.object, Err: err}
	}
	return undo, err
}

var errOtherMoves = errors.New("nothing was moved: the fields to move now differ from the fields in Moves; make and check a new Transfer")

// readAgain reads the object and plans the transfer again. If the object shows that the moves of the first plan were
// already made, the result contains the first plan. If the new plan moves other fields, the error is errOtherMoves.
func (t *Transfer) readAgain(ctx context.Context) (*rewrite, error) {
	now, err := t.read(ctx)
	switch {
	case err != nil || t.undoes || sameMoves(t.shown.plan.Moved, now.plan.Moved):
		return now, err
	case t.shown.plan.Done(now.live.GetManagedFields()) == nil:
		now.plan = t.shown.plan
		return now, nil
	}
	return nil, errOtherMoves
}

// sameMoves reports whether two plans move the same fields between the same managers and apiVersions. It ignores
// whether the new owner already owned a field before (ToOwned).
func sameMoves(a, b []fieldowners.Handover) bool {
	return slices.EqualFunc(a, b, func(a, b fieldowners.Handover) bool {
		a.ToOwned, b.ToOwned = false, false
		return a.String() == b.String() && a.From.APIVersion == b.From.APIVersion && a.To.APIVersion == b.To.APIVersion
	})
}

// write makes one attempt to carry out the plan of state. If no field is left to move, it sends nothing.
func (t *Transfer) write(ctx context.Context, state *rewrite) (undo *Transfer, err error) {
	after := state.live.GetManagedFields()
	done := state.plan.Done(after) == nil
	if !done {
		after, err = state.plan.Rewrite(after)
	}
	if err == nil {
		undo, err = t.reverse(state, after)
	}
	if err != nil {
		return nil, &apply.RefusedError{Object: t.object, Err: err}
	}
	if done {
		return undo, nil
	}
	c, fieldManager := t.applier.Client(), client.FieldOwner(t.applier.FieldManager())
	if err := state.rehearse(ctx, c, after, fieldManager); err != nil {
		return nil, classify(ctx, t.applier, t.object, err)
	}
	moving := t.object
	moving.ResourceVersion = "" // the resourceVersion after the write is not known yet
	t.applier.Config().Steady.Wrote(moving)
	stored, err := state.send(ctx, c, after, fieldManager)
	if err == nil {
		if err = state.verify(after, stored.GetManagedFields()); err != nil {
			err = fmt.Errorf("the API server accepted the write, but the stored managed fields differ from those that were sent: %w", err)
		}
		return undo, classify(ctx, t.applier, t.object, err)
	}
	err = classify(ctx, t.applier, t.object, err)
	if result := apply.ResultOf(err); result == "Retryable" || result == "Cancelled" { // the response may have been lost
		return undo, err
	}
	return nil, err
}

// classify returns the typed error for a failed write.
func classify(ctx context.Context, applier *apply.Applier, object apply.ObjectRef, err error) error {
	if err = apply.CheckNotFound(ctx, applier.Config().LiveReader, object, "", err); apierrors.IsNotFound(err) {
		return &apply.UIDMismatchError{Object: object, Err: errAbsent} // the object was deleted after it was read
	}
	return apply.Classify(ctx, object, err)
}

// reverse returns the Transfer that undoes the plan in state. The argument after contains the managed fields of the object
// once the plan has been carried out.
func (t *Transfer) reverse(state *rewrite, after []metav1.ManagedFieldsEntry) (*Transfer, error) {
	back := &Transfer{applier: t.applier, object: t.object, fields: state.plan.Undo(), undoes: true}
	verb, isUndo := strings.CutPrefix(t.verb, "Undo of ")
	if back.verb = verb; !isUndo {
		back.verb = "Undo of " + verb
	}
	var err error
	back.shown.plan, err = back.fields.Plan(after, state.objects)
	return back, err
}
