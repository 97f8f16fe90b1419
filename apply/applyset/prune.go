package applyset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"coapply.dev/apply"
)

// ErrNotPruned means that Round.Prune deleted nothing, because not all intents of the round were applied, or because a
// later round of the parent has begun. In the first case the error also wraps the first error of Round.Errs.
// Sets.Delete returns ErrNotPruned if the parent is not being deleted.
var ErrNotPruned = errors.New("not pruned")

// Pruned is the result of Round.Prune and Sets.Delete: the objects for which the parent no longer has an intent.
type Pruned struct {
	Deleted  []apply.ObjectRef // members for which a delete request succeeded; those with finalizers still exist
	Released []apply.ObjectRef // objects whose fields were released, because a partial intent is no longer desired
	Kept     []Kept            // objects that were neither deleted nor released; each Prune returns them again
	Left     []apply.ObjectRef // only after Sets.Delete: members that are being deleted but still exist
}

// Kept is an object that is no longer desired but that Prune neither deleted nor released, with the reason.
type Kept struct {
	Object apply.ObjectRef
	Reason string // always the same text for the same cause

	// Remembered reports whether the object was already kept for the same reason in an earlier round of this process,
	// so that it need not be reported again. The time between two checks of the kept objects grows from five seconds to
	// ten minutes, so not every round checks them.
	Remembered bool
}

// String returns a message with the object and the reason.
func (k Kept) String() string {
	return fmt.Sprintf("%v is no longer desired, but was kept: %s", k.Object, k.Reason)
}

// PruneError contains the errors that occurred while objects were deleted or released. The Pruned returned with the
// error lists the objects that were deleted or released successfully.
type PruneError struct {
	Parent apply.ObjectRef
	Errs   []error
}

func (e *PruneError) Error() string {
	return strings.ReplaceAll(fmt.Sprintf("pruning the ApplySet of %v: %v", e.Parent, errors.Join(e.Errs...)), "\n", "; ")
}

func (e *PruneError) Unwrap() []error { return e.Errs }

// Prune deletes the members of the parent's set that have no intent in this round, with background propagation. Then it
// removes the kinds and namespaces without members from the parent's annotations. If Round.Errs is not empty, Prune
// deletes nothing and returns ErrNotPruned.
//
// An object with the set's label is kept, and returned in Pruned.Kept, if the applier's field manager does not own the
// label by Apply, or if the object has owner references but none to the parent. An object that is already being deleted,
// or that was recreated, is also kept. Each delete request is pinned to the uid and resourceVersion that were checked.
// If the object has changed, Prune reads and checks the object again.
//
// Nothing is deleted unless a live read shows that the parent has not changed. The parent must have the same uid and
// generation as the parent that was given to Sets.Apply, and must not be marked for deletion. If the parent's kind has
// no generation (ConfigMap, Secret, Namespace, Node), the resourceVersion must be the same, except for the round's own
// write of the set's annotations. If an intent of the round changes such a parent, only the next round can prune. A change
// of annotations increments the generation of a Deployment. So if the parent is a Deployment, and the round changes its
// annotations, including the set's annotations, only the next round can prune.
//
// If a partial intent (MustExist or a Subresource) is no longer desired, Prune releases its fields under the same
// conditions (see ownership.Release). If two parents set fields of one object under one field manager, a release for
// one parent also releases the fields of the other parent. If an object would be invalid without the fields, it is
// returned in Pruned.Kept.
//
// Kinds that the API server no longer serves are skipped. Other errors are classified by apply.Classify, and returned
// in a *PruneError. After an error, the parent's annotations stay as they are, and the next Prune retries.
func (r *Round) Prune(ctx context.Context) (Pruned, error) {
	switch {
	case !r.complete && len(r.Errs) == 0:
		return Pruned{}, fmt.Errorf("%w: Sets.Apply did not return this Round; call Prune on a Round that Sets.Apply returned", ErrNotPruned)
	case !r.complete:
		return Pruned{}, fmt.Errorf("%w: not all intents were applied: %w", ErrNotPruned, r.Errs[0])
	}
	if latest, _ := r.sets.latest.Get(r.parent.UID); latest != r {
		return Pruned{}, fmt.Errorf("%w: this Round is out of date, because a later call of Sets.Apply or Sets.Delete for %v has begun", ErrNotPruned, r.parent)
	}
	known, _ := r.sets.known.Get(r.parent.UID)
	released := known.partials.Difference(r.partial).Difference(known.lookout.partials)
	if known.complete && len(known.applied) == len(r.members) && !known.lookout.due() && len(released) == 0 {
		return Pruned{Kept: known.lookout.mark(slices.Clone(known.lookout.kept))}, nil
	}
	p := &pruning{Round: r, before: known.lookout, left: r.emitted.union(newScope()), unreleased: partials{}}
	p.run(ctx)
	return p.pruned, p.err()
}

// pruning is the state of one call of Prune or Delete.
type pruning struct {
	*Round

	all    bool    // true for Delete, which deletes all members because the parent is being deleted
	before lookout // the kept objects of earlier rounds
	again  bool    // the next round must list the members again

	unreleased partials          // partial intents whose fields could not be released
	left       scope             // the kinds and namespaces that may still have members after the call
	dropped    []apply.ObjectRef // the members to delete
	pruned     Pruned
	errs       []error
}

func (p *pruning) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return &PruneError{Parent: p.parent, Errs: p.errs}
}

func (p *pruning) run(ctx context.Context) {
	p.find(ctx)
	released := sortedPartials(p.named.Difference(p.partial).Difference(p.members))
	if len(p.dropped)+len(released) > 0 {
		if err := p.parentStands(ctx); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	forEach(ctx, p, p.dropped, p.delete)
	forEach(ctx, p, released, p.release)
	if len(p.errs) == 0 {
		p.settle(ctx)
	}
}

// forEach calls do for each item until the context ends.
func forEach[T any](ctx context.Context, p *pruning, items []T, do func(context.Context, T)) {
	for _, item := range items {
		if ctx.Err() != nil {
			p.errs = append(p.errs, ctx.Err())
			return
		}
		do(ctx, item)
	}
}

// settle sets the parent's annotations to the kinds, namespaces and partial intents that remain, and stores the new
// state of the set in Sets.known.
func (p *pruning) settle(ctx context.Context) {
	p.named = p.partial.Union(p.unreleased)
	if p.recorded != (record{}) {
		if err := p.write(ctx, p.left); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	known := knownSet{
		record: p.recorded, applied: p.members, complete: !p.again,
		lookout: p.before.next(p.pruned.Kept), partials: p.named,
	}
	known.lookout.partials = p.unreleased
	p.sets.known.Put(p.parent.UID, known)
	p.before.mark(p.pruned.Kept)
}

func (p *pruning) fail(ctx context.Context, object apply.ObjectRef, err error) {
	p.errs = append(p.errs, apply.Classify(ctx, object, err))
}
