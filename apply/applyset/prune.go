package applyset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coapply.dev/apply"
)

// ErrNotPruned means that Round.Prune deleted nothing, because not all intents of the round were applied
// or because a later round of the parent has begun. In the first case, the error also wraps the first
// error of Round.Errs. Sets.Delete returns ErrNotPruned if the parent is not being deleted.
var ErrNotPruned = errors.New("not pruned")

// Pruned is the result of Round.Prune and Sets.Delete: the objects that the parent no longer emits.
type Pruned struct {
	Deleted  []apply.ObjectRef // deleted members; a member exists until its finalizers are removed
	Released []apply.ObjectRef // objects in which the fields of partial intents were released
	Kept     []Kept            // objects that were neither deleted nor released; returned by each Prune
	Left     []apply.ObjectRef // only from Sets.Delete: members that are being deleted and still exist
}

// Kept is an object that the parent no longer emits, but that Prune neither deleted nor released.
type Kept struct {
	Object apply.ObjectRef
	Reason string // why the object was kept; the same text for the same cause

	// Remembered reports whether an earlier round of this process has already kept the object
	// for the same reason. Not every round reads the kept objects again: the time between two
	// reads grows from five seconds to ten minutes.
	Remembered bool
}

// String returns the object and the reason.
func (k Kept) String() string {
	return fmt.Sprintf("%v is no longer desired, but was kept: %s", k.Object, k.Reason)
}

// PruneError lists the errors that occurred while a set was pruned. The Pruned that is returned with a
// PruneError lists the objects that were deleted or released nevertheless.
type PruneError struct {
	Parent apply.ObjectRef
	Errs   []error
}

func (e *PruneError) Error() string {
	var parts []string
	for _, err := range e.Errs {
		parts = append(parts, err.Error())
	}
	return fmt.Sprintf("pruning the set of %v: %s", e.Parent, strings.Join(parts, "; "))
}

func (e *PruneError) Unwrap() []error { return e.Errs }

// Prune deletes the members that the parent no longer emits, with background propagation, each at
// the uid and resourceVersion that were checked. It then removes from the parent's annotations the
// kinds and namespaces without members. If an error occurred in the round, it returns ErrNotPruned.
//
// A label alone deletes nothing, as anybody can copy or forge a label. An object is kept in these
// cases: the applier's field manager does not own the label by Apply; the object has owners, but the
// parent is not one of them; the object is being deleted already; the object was recreated. If an
// object changes before the delete, it is read and checked again.
//
// Nothing is deleted unless a live read shows that the parent is the same object, is not being
// deleted, and is at the generation of the parent passed to Sets.Apply. If the parent's kind has no
// generation (ConfigMap, Secret, Namespace, Node), the resourceVersion must be the same. The round's
// own write of the set's annotations may change it. If an intent of the round changes such a parent,
// only the next round can prune. The same is true of a Deployment as parent after any write of the
// round, as the generation of a Deployment also counts changes of its annotations.
//
// If a partial intent (MustExist or a Subresource) is no longer emitted, Prune releases its fields,
// under the same conditions, at the object's uid. The fields of an object and of each subresource
// are released separately. If two parents set fields of one object under one field manager,
// releasing the fields of one parent also releases those of the other. If an object cannot exist
// without the fields, it is in Kept.
//
// Kinds that the API server no longer serves are skipped. Other errors are in a *PruneError, typed
// as by apply.Classify. The parent's annotations then stay, and the next Prune continues.
func (r *Round) Prune(ctx context.Context) (Pruned, error) {
	if !r.complete {
		return Pruned{}, r.notStanding()
	}
	if latest, _ := r.sets.latest.Get(r.parent.UID); latest != r {
		return Pruned{}, fmt.Errorf("%w: a later round of %v has begun", ErrNotPruned, r.parent)
	}
	known, _ := r.sets.known.Get(r.parent.UID)
	if known.complete && len(known.applied) == len(r.members) && !known.lookout.due() && !r.releases(known) {
		return Pruned{Kept: known.lookout.remembered()}, nil
	}
	p := &pruning{Round: r, before: known.lookout, left: r.emitted.union(newScope()), unreleased: partials{}}
	p.run(ctx)
	return p.pruned, p.err()
}

func (r *Round) notStanding() error {
	if len(r.Errs) == 0 {
		return fmt.Errorf("%w: no intents were applied in this round; get the round from Sets.Apply", ErrNotPruned)
	}
	parent := "the parent"
	if r.parent.Kind != "" {
		parent = r.parent.String()
	}
	return fmt.Errorf("%w: not all intents of %s were applied: %w", ErrNotPruned, parent, r.Errs[0])
}

// pruning is the state of one call of Prune or Delete.
type pruning struct {
	*Round

	all    bool    // true for Delete: the parent is being deleted, and all its members are deleted
	before lookout // the kept objects of the previous rounds
	again  bool    // whether the next round must list the members again

	unreleased partials          // partial intents whose fields could not be released
	left       scope             // the kinds and namespaces where members may remain after the pruning
	dropped    []apply.ObjectRef // members that must be deleted
	pruned     Pruned
	errs       []error
}

// err returns a PruneError with the errors of the pruning, or nil if there are none.
func (p *pruning) err() error {
	if len(p.errs) == 0 {
		return nil
	}
	return &PruneError{Parent: p.parent, Errs: p.errs}
}

func (p *pruning) run(ctx context.Context) {
	p.find(ctx)
	released := sortedPartials(p.named.Difference(p.intents))
	if len(p.dropped)+len(released) > 0 {
		if err := p.parentStands(ctx); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	p.deleteDropped(ctx)
	p.release(ctx, released)
	if len(p.errs) > 0 {
		return
	}
	p.settle(ctx)
}

// settle writes the remaining kinds, namespaces and partial intents to the parent, and stores the
// state of the set in this process.
func (p *pruning) settle(ctx context.Context) {
	p.named = p.partial.Union(p.unreleased)
	if p.recorded != (record{}) {
		to, err := p.withPartials(p.own.with(p.left), p.named)
		if err == nil {
			err = p.write(ctx, to)
		}
		if err != nil {
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
