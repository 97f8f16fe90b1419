package applyset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coapply.dev/apply"
)

// ErrNotPruned is returned for a round that cannot be pruned: something in it failed (the error
// then also wraps the first of Round.Errs), or a later round has begun. Nothing was deleted.
var ErrNotPruned = errors.New("not pruned")

// Pruned reports what became of the members that a parent no longer emits.
type Pruned struct {
	Deleted  []apply.ObjectRef // an object with finalizers stays until these are removed
	Released []apply.ObjectRef // objects in which fields of partial intents were given up
	Kept     []Kept            // listed in each round, see Kept.Remembered
	Left     []apply.ObjectRef // set by Sets.Delete: members that are being deleted and still exist
}

// Kept is an object that has the set's label, is no longer emitted, and was not deleted.
type Kept struct {
	Object apply.ObjectRef
	Reason string // stays the same while the cause does

	// Remembered reports whether an earlier round of this process kept the object for this
	// reason, and this round did not look again. The next look comes seconds later, then
	// less and less often, up to every ten minutes.
	Remembered bool
}

// String returns the object and the reason.
func (k Kept) String() string {
	return fmt.Sprintf("%v is emitted no longer and was kept: %s", k.Object, k.Reason)
}

// PruneError lists everything that failed while a set was pruned. The rest was deleted.
type PruneError struct {
	Parent apply.ObjectRef
	Errs   []error
}

func (e *PruneError) Error() string {
	var parts []string
	for _, err := range e.Errs {
		parts = append(parts, err.Error())
	}
	return fmt.Sprintf("pruning what %v emitted before: %s", e.Parent, strings.Join(parts, "; "))
}

func (e *PruneError) Unwrap() []error { return e.Errs }

// Prune deletes the members that the parent no longer emits, with background propagation, each
// pinned to the uid and resourceVersion that were judged. It then shortens what the parent
// records to the places where members are now. It returns ErrNotPruned for a round in which
// anything failed.
//
// A label alone deletes nothing, as anybody can copy or forge one. An object is kept if the
// applier's field manager does not own its label (by Apply), if it has owners and the parent is
// not among them, if it is being deleted already, or if it was recreated meanwhile. If an
// object is written to before it is deleted, it is read and judged again.
//
// Nothing is deleted unless the parent, read past the cache, is the same object, is not being
// deleted, and is at the generation that was emitted from. (A Deployment counts its annotations
// in its generation: as a parent it can be pruned only in the round after one that wrote to
// it.) If the parent's kind has no generation, as ConfigMap, Secret, Namespace and Node, the
// resourceVersion must be the one that was emitted from. The round's own record of places does
// not count; what an intent of the round changes on such a parent does, and then the next round
// prunes.
//
// Fields that partial intents (MustExist or a Subresource) set, and that are no longer emitted,
// are released under the same conditions, pinned to the uid. Object and subresource are
// released separately, and only if no intent for them is still emitted. Fields that two parents
// set on one object under one field manager are one entry: releasing them for one parent
// releases them for both. If an object cannot exist without the fields, it is in Kept.
//
// Kinds that the server no longer serves are passed over. Other failures are in a *PruneError,
// in the classes of apply.Classify; the parent's record then stays, and pruning again
// continues.
func (r *Round) Prune(ctx context.Context) (Pruned, error) {
	if !r.complete {
		return Pruned{}, r.notStanding()
	}
	if latest, _ := r.sets.latest.Get(r.parent.UID); latest != r {
		return Pruned{}, fmt.Errorf("%w: there is a later round of %v", ErrNotPruned, r.parent)
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
		return fmt.Errorf("%w: nothing was applied in this round; Sets.Apply gives one", ErrNotPruned)
	}
	parent := "the parent"
	if r.parent.Kind != "" {
		parent = r.parent.String()
	}
	return fmt.Errorf("%w: not everything that %s emits stands: %w", ErrNotPruned, parent, r.Errs[0])
}

// pruning is one Prune under way.
type pruning struct {
	*Round

	all    bool    // the parent is being deleted: delete all members
	before lookout // after the rounds before
	again  bool    // the next round has to look again

	unreleased partials          // partial intents whose fields could not be given up
	left       scope             // where members may be afterwards
	dropped    []apply.ObjectRef // to be deleted
	pruned     Pruned
	errs       []error
}

// err returns what went wrong, or nil.
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

// settle records in the parent what is left, and remembers it.
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
