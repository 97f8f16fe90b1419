package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
)

// Transfer shows fields that are to change owner, and moves them by Do. It is made
// by Migrate, Rename, Undo, or the Do of another one, whose undo it is. It is safe for
// concurrent use.
type Transfer struct {
	applier *Applier
	verb    string
	object  ObjectRef // with the uid of the object that was looked at
	fields  fieldowners.Transfer
	shown   *transferState
	undoes  bool // what moves is a part of shown, however much of it is left

	unmatched []string
}

// Moves lists the fields that Do moves. Those of an undo are the fields that moved;
// its Do leaves out what their new owner has given up since.
func (t *Transfer) Moves() []fieldowners.Handover { return slices.Clone(t.shown.plan.Moved) }

// Unmoved lists the fields that were asked for and stay with their owner, and why.
func (t *Transfer) Unmoved() []fieldowners.Unmoved { return slices.Clone(t.shown.plan.Unmoved) }

// String shows the transfer for a person, a field a line, and then what was asked
// for and not found. There are no values in it.
func (t *Transfer) String() string {
	var b strings.Builder
	fields := "fields"
	if len(t.shown.plan.Moved) == 1 {
		fields = "field"
	}
	fmt.Fprintf(&b, "%s on %v: %d %s to move, %d to stay\n", t.verb, t.object, len(t.shown.plan.Moved), fields, len(t.shown.plan.Unmoved))
	for _, m := range t.shown.plan.Moved {
		fmt.Fprintf(&b, "  move %v\n", m)
	}
	for _, k := range t.shown.plan.Unmoved {
		fmt.Fprintf(&b, "  stay %v\n", k)
	}
	for _, none := range t.unmatched {
		fmt.Fprintf(&b, "  none %s\n", none)
	}
	return b.String()
}

// Do moves the fields in one write that is bound to the object's uid and to the
// resourceVersion read, so that nobody's concurrent write is lost and no other
// object of the name is touched or created. No value changes. Where nothing is to
// be moved, nothing is sent.
//
// Where entries of the object are in several apiVersions, a dry run goes first: with
// one that the server does not know any more, it would drop everybody's managed
// fields at any write, and Do refuses to be that write.
//
// Where others wrote meanwhile it reads again. If the same fields would still move,
// it tries again, bounded; otherwise it ends with a StaleWriteError: look again.
//
// Repeating a Do is safe. Where it was done already, its write is stale, as that of
// anyone who wrote since is, and the read after it tells that there is nothing left
// to do; an undo reads first, and sends nothing then.
//
// undo gives the fields back to those who owned them, as far as the applier still
// owns them then; its Do is guarded alike, and returns what undoes that.
//
// Errors are *StaleWriteError, *ContendedError, *UIDMismatchError (deleted or
// recreated), *RefusedError, *RetryableError or the end of the context. Nothing has
// moved then, unless an undo comes with the error: the answer was lost, or it was
// not what was sent, and the undo is for what may have been done.
func (t *Transfer) Do(ctx context.Context) (undo *Transfer, err error) {
	state := new(*t.shown) // Do may run twice at a time
	if t.undoes {
		if state, err = t.read(ctx, 0); err != nil {
			return nil, err
		}
	}
	exhausted, err := wire.Tries(ctx, IsStaleWrite, func() (err error) {
		inside, leave, err := t.applier.config.Lanes.Enter(ctx, t.object.Key())
		if err != nil {
			return err
		}
		defer leave()
		undo, state, err = t.try(inside, state)
		return err
	})
	switch {
	case exhausted:
		return nil, &ContendedError{Object: t.object, Attempts: state.sent, Err: err}
	case state == nil && err == nil:
		return nil, &StaleWriteError{Object: t.object,
			Err: errors.New("other fields would move now than were shown; nothing moved, make the transfer anew and look at it")}
	}
	return undo, err
}

// try writes, after another look if the last try was stale, and gives the state that
// it went by.
func (t *Transfer) try(ctx context.Context, state *transferState) (undo *Transfer, used *transferState, err error) {
	if state.stale {
		now, err := t.readAgain(ctx, state.sent)
		if err != nil {
			return nil, state, err
		}
		if state = now; state == nil {
			return nil, nil, nil
		}
	}
	undo, err = t.write(ctx, state)
	state.stale = IsStaleWrite(err)
	return undo, state, err
}

// readAgain gives what there is to do now, which is nothing if it was done meanwhile;
// nil without an error says that it is not what was shown.
func (t *Transfer) readAgain(ctx context.Context, sent int) (*transferState, error) {
	now, err := t.readOnce(ctx)
	if err != nil {
		return nil, err
	}
	now.sent = sent
	switch {
	case t.undoes || sameMoves(t.shown.plan.Moved, now.plan.Moved):
		return now, nil
	case t.shown.plan.Done(now.entries) == nil:
		now.plan, now.done = t.shown.plan, true
		return now, nil
	}
	return nil, nil
}

// sameMoves tells whether the same fields go from the same managers to the same.
// Whether the receiver owns one already may have changed.
func sameMoves(a, b []fieldowners.Handover) bool {
	return slices.EqualFunc(a, b, func(a, b fieldowners.Handover) bool {
		a.ToOwned, b.ToOwned = false, false
		return a.String() == b.String() && a.From.APIVersion == b.From.APIVersion && a.To.APIVersion == b.To.APIVersion
	})
}

func (t *Transfer) write(ctx context.Context, state *transferState) (undo *Transfer, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	after := state.entries
	if !state.done {
		if after, err = state.plan.Rewrite(state.entries); err != nil {
			return nil, &RefusedError{Object: t.object, Err: err}
		}
	}
	if undo, err = t.reverse(state, after); err != nil {
		return nil, err
	}
	if state.done || len(state.plan.Moved) == 0 {
		return undo, nil
	}
	if err := t.rehearse(ctx, state, after); err != nil {
		return nil, err
	}
	t.applier.Wrote(t.object)
	stored, err := t.send(ctx, state, after)
	switch {
	case err == nil:
		return undo, t.verify(state.plan, after, stored, "the write landed, and the managed fields are not those sent")
	case ResultOf(err) == "Retryable", ResultOf(err) == "Cancelled": // the answer may have been lost
		return undo, err
	}
	return nil, err
}

// rehearse is a dry run where entries are in several apiVersions. With one that the
// API server has no conversion for any more, as of a version removed from a custom
// resource definition, every write wipes the managed fields altogether (1.36) or
// keeps the former ones (1.37), and whose entry it is does not matter.
func (t *Transfer) rehearse(ctx context.Context, state *transferState, after []metav1.ManagedFieldsEntry) error {
	other := slices.IndexFunc(after, func(e metav1.ManagedFieldsEntry) bool { return e.APIVersion != t.object.GroupVersion().String() })
	if other < 0 {
		return nil
	}
	stored, err := t.send(ctx, state, after, client.DryRunAll)
	if err != nil {
		return err
	}
	return t.verify(state.plan, after, stored, fmt.Sprintf(
		"nothing was written, as the API server would not store the managed fields as sent, perhaps because it has no %s any more", after[other].APIVersion))
}

// verify holds the server's answer against what was sent: beside a missing
// conversion a mutating webhook may have rewritten it, and the server leaves managed
// fields out of an object that has become too large.
func (t *Transfer) verify(plan fieldowners.TransferPlan, sent, stored []metav1.ManagedFieldsEntry, problem string) error {
	err := plan.Done(stored)
	if err == nil {
		err = fieldowners.Stored(sent, stored)
	}
	if err != nil {
		return &RefusedError{Object: t.object, Err: fmt.Errorf("%s: %w", problem, err)}
	}
	return nil
}

// reverse gives the transfer that undoes what the state's plan does.
func (t *Transfer) reverse(state *transferState, after []metav1.ManagedFieldsEntry) (*Transfer, error) {
	back := &Transfer{applier: t.applier, object: t.object, fields: state.plan.Undo(), undoes: true}
	if verb, isUndo := strings.CutPrefix(t.verb, "Undo of "); isUndo {
		back.verb = verb
	} else {
		back.verb = "Undo of " + t.verb
	}
	plan, err := back.fields.Plan(after, state.objects)
	if err != nil {
		return nil, &RefusedError{Object: t.object, Err: err}
	}
	back.shown = &transferState{plan: plan}
	return back, nil
}
