package applyset

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/lanes"
)

// intentKey identifies the target of an intent: an object or a subresource of an object.
type intentKey struct {
	lanes.Key

	subresource string
}

// preparedIntent is an intent of a round after prepare has checked it. The intent for a member includes the set's
// label.
type preparedIntent struct {
	apply.Intent

	object apply.ObjectRef
	member bool  // the object is a member of the set; false for a partial intent
	err    error // the error that prevents the apply of the intent, or nil
}

// prepare checks an intent, and records its object and subresource in the round. If the object is a member, prepare
// adds the set's label to the intent.
func (r *Round) prepare(intent apply.Intent) preparedIntent {
	object, err := intent.Object()
	if err != nil {
		return preparedIntent{Intent: intent} // Round.apply passes the invalid intent to Applier.Apply, which returns the error
	}
	one := preparedIntent{Intent: intent, object: object, member: !intent.MustExist && intent.Subresource == ""}
	key := intentKey{object.Key(), intent.Subresource}
	labelled, err := intent.WithLabel(PartOfLabel, r.own.id)
	switch {
	case r.members.Has(key) || r.partial.Has(key):
		one.err = &apply.IntentError{Object: object, Err: fmt.Errorf(
			"two intents for %v: put all fields into one intent, because each apply removes the fields that its intent does not set", key)}
	case one.member && key.Key == r.parent.Key():
		one.err = &apply.IntentError{Object: object, Err: errors.New("the parent of an ApplySet cannot be a member of the same ApplySet: set MustExist in an intent for the parent")}
	case err != nil:
		one.err = err
	case one.member:
		one.Intent = labelled
		r.emitted.add(object, r.parent)
		r.members.Insert(key)
	default:
		r.partial.Insert(key)
	}
	return one
}

// apply applies one intent of a round, and records the uid of its object in the round.
func (r *Round) apply(ctx context.Context, one preparedIntent) (outcome apply.Outcome, err error) {
	switch {
	case one.err != nil:
		return apply.Outcome{Object: one.object}, one.err
	case one.member:
		outcome, err = r.applyMember(ctx, one)
	case r.taken[one.object.Key()] != nil:
		return apply.Outcome{Object: one.object}, r.taken[one.object.Key()]
	default:
		outcome, err = r.sets.members.Apply(ctx, one.Intent)
	}
	if errors.Is(err, apply.ErrNotOurs) {
		r.taken[one.object.Key()] = err
	}
	if uid := outcome.Object.UID; uid != "" {
		r.emittedAs[uid] = r.emittedAs[uid] || one.member
	}
	return outcome, err
}

// applyMember applies the intent for a member, unless the object is a member of another set. All sets of a process have
// the same field manager, so the API server would overwrite the other set's label without reporting a conflict.
// Therefore applyMember reads the label before the apply. Between the read and the apply, no other set of the process
// applies to the object. If the apply needs no request, the label is not read: an object that has all fields of the
// intent also has the label.
func (r *Round) applyMember(ctx context.Context, one preparedIntent) (apply.Outcome, error) {
	leave := func() {}
	defer func() { leave() }() //nolint:gocritic // leave is replaced before the first request
	ctx = wire.BeforeSending(ctx, func(ctx context.Context) (inside context.Context, err error) {
		inside, leave, err = r.sets.holding.Enter(ctx, one.object.Key())
		if err == nil {
			err = r.hold(inside, one.object)
		}
		return inside, err
	})
	outcome, err := r.sets.members.Apply(ctx, one.Intent)
	if err != nil {
		r.sets.holders.Remove(one.object.Key()) // now it is not known whether the object has the label
	}
	return outcome, err
}

// hold records that an object is a member of the round's set, or returns an error if the object is a member of another
// set. If this process does not know the object's set, hold reads the object's label from the API server. A cached
// label could be older than the last apply of another round, and a cached read would start a watch of the kind.
func (r *Round) hold(ctx context.Context, object apply.ObjectRef) error {
	key := object.Key()
	if holder, _ := r.sets.holders.Get(key); holder == r.own.id {
		return nil
	}
	live, err := r.sets.readMetadata(ctx, object)
	switch {
	case apierrors.IsNotFound(err): // the apply creates the object
	case err != nil:
		return apply.Classify(ctx, object, fmt.Errorf("reading the label %s of the object: %w", PartOfLabel, err))
	default:
		if label := live.Labels[PartOfLabel]; label != "" && label != r.own.id {
			return &apply.RefusedError{Object: object, Err: fmt.Errorf(
				"nothing was applied: the label %s shows that the object is a member of the set %q, so the object cannot become a member of the set %q of %v; "+
					"prune the object from the other set, or remove the label", PartOfLabel, label, r.own.id, r.parent)}
		}
	}
	r.sets.holders.Put(key, r.own.id)
	return nil
}
