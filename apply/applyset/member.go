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

// intentKey names what an intent is for.
type intentKey struct {
	lanes.Key

	subresource string
}

// preparedIntent is an intent as it is to be applied, or the error why it is not.
type preparedIntent struct {
	apply.Intent

	object apply.ObjectRef
	member bool
	err    error
}

// prepare adds the label to an intent if its object is a member, and records the member's
// place.
func (r *Round) prepare(intent apply.Intent) preparedIntent {
	object, err := intent.Object()
	if err != nil {
		return preparedIntent{Intent: intent} // Apply returns the error
	}
	prepared := preparedIntent{Intent: intent, object: object}
	key := intentKey{object.Key(), intent.Subresource}
	if r.intents.Has(key) {
		prepared.err = twoIntents(object, intent.Subresource)
		return prepared
	}
	r.intents.Insert(key)
	prepared.member = isMember(intent)
	switch {
	case prepared.member && key.Key == r.parent.Key():
		err = errors.New("the parent of a set is no member of it: an intent for the parent needs MustExist")
	case prepared.member:
		prepared.Intent, err = intent.WithLabel(PartOfLabel, r.own.id)
	default:
		_, err = intent.WithLabel(PartOfLabel, r.own.id)
	}
	switch {
	case errors.Is(err, apply.ErrInvalidIntent):
		prepared.err = err
	case err != nil:
		prepared.err = &apply.IntentError{Object: object, Err: err}
	case prepared.member:
		r.emitted.add(object, r.parent)
		r.members.Insert(key.Key)
	default:
		r.partial.Insert(key)
	}
	return prepared
}

// twoIntents is the error for a second intent for one object, which would give up what only the
// first one lists.
func twoIntents(object apply.ObjectRef, subresource string) error {
	what := "object"
	if subresource != "" {
		what = fmt.Sprintf("subresource %q of an object", subresource)
	}
	return &apply.IntentError{Object: object, Err: fmt.Errorf(
		"two intents for one %s: one manager applies it once, with everything it wants", what)}
}

func isMember(intent apply.Intent) bool { return !intent.MustExist && intent.Subresource == "" }

// apply applies one intent of a round.
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

// applyMember applies a member unless it belongs to another set. The server does not refuse
// that: all sets of a process have one field manager, so one takes the label of another without
// a conflict, and the answer does not show the former label. Hence the read, with no other
// write of this process between it and the apply. If nothing is to be sent, nothing is read
// either: a member that is as wanted has the label.
func (r *Round) applyMember(ctx context.Context, one preparedIntent) (apply.Outcome, error) {
	var leave func()
	defer func() {
		if leave != nil {
			leave()
		}
	}()
	ctx = wire.BeforeSending(ctx, func(ctx context.Context) (inside context.Context, err error) {
		inside, leave, err = r.sets.holding.Enter(ctx, one.object.Key())
		if err == nil {
			err = r.hold(inside, one.object)
		}
		return inside, err
	})
	outcome, err := r.sets.members.Apply(ctx, one.Intent)
	if err != nil {
		r.sets.holders.Remove(one.object.Key()) // it is not known whether the object has the label
	}
	return outcome, err
}

// hold makes the round's set the holder of an object. Unless it is known as the holder, the
// object is read past the cache: the cache may not have what another parent's round applied a
// moment ago, and would begin to watch the kind.
func (r *Round) hold(ctx context.Context, object apply.ObjectRef) error {
	key := object.Key()
	if holder, _ := r.sets.holders.Get(key); holder == r.own.id {
		return nil
	}
	live, err := r.sets.readMetadata(ctx, object)
	switch {
	case apierrors.IsNotFound(err): // Apply creates it
	case err != nil:
		return apply.Classify(ctx, object, fmt.Errorf("reading whether it is in another set: %w", err))
	default:
		if label := live.Labels[PartOfLabel]; label != "" && label != r.own.id {
			return &apply.RefusedError{Object: object, Err: fmt.Errorf(
				"it is in the set %q by its label %s, and an object is in one set at most: %v cannot have it in %q, nothing was applied; "+
					"it can once that set has pruned it, or the label is removed", label, PartOfLabel, r.parent, r.own.id)}
		}
	}
	r.sets.holders.Put(key, r.own.id)
	return nil
}
