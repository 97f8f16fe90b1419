package applyset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"coapply.dev/apply"
)

// ErrNotPruned says that a round cannot be pruned: not everything that its parent
// emits stands, which wraps the first of Round.Errs as well, or there is a later
// round, be it one that failed. Nothing was deleted.
var ErrNotPruned = errors.New("not pruned")

// Pruned is what became of the members that a parent emits no longer.
type Pruned struct {
	Deleted  []apply.ObjectRef // an object with finalizers goes when these are gone
	Released []apply.ObjectRef // what partial intents set there was given up
	Kept     []Kept            // in each round anew, see Kept.Remembered
	Left     []apply.ObjectRef // of Sets.Delete: members that are being deleted, and still there
}

// Kept is an object that has the set's label, is emitted no longer, and was not
// deleted.
type Kept struct {
	Object apply.ObjectRef
	Reason string // the same as long as the trouble is

	// Remembered says that an earlier round of this process kept it for this reason.
	// It is looked at again seconds later, then less and less often, every ten minutes
	// in the end; in between it costs no request, and what became of it is not known.
	Remembered bool
}

// String gives the object and the reason.
func (k Kept) String() string {
	return fmt.Sprintf("%v is emitted no longer and was kept: %s", k.Object, k.Reason)
}

// PruneError is everything that failed while a set was pruned. What else could be
// deleted was.
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

// Unwrap gives each error.
func (e *PruneError) Unwrap() []error { return e.Errs }

// Prune deletes the members that the parent emits no longer, each pinned to the uid
// and the resourceVersion that it was judged at, with background propagation, and then
// shrinks what the parent says to where members are now. It refuses a round of which
// anything failed, with ErrNotPruned.
//
// A label alone deletes nothing, as anybody can copy or forge one. An object is
// kept when the label is not owned by the applier's field manager (Apply), when it
// has owners and the parent is none of them, when it is being deleted already, or
// when it was recreated meanwhile. One that is written to before it is deleted is
// read and judged again: without the label it is no member any more. Nothing is
// deleted unless the parent, read past the cache, is the same object, is not being
// deleted and is at the generation that was emitted from. (A Deployment counts its
// annotations in its generation: as a parent it can be pruned only in the round after
// one that wrote to it.) Of a parent whose kind has no generation, such as a
// ConfigMap, a Secret, a Namespace or a Node, the resourceVersion has to be the one
// that was emitted from. The round's own write of where members may be does not
// count; what an intent of the round changes on such a parent does, and the next
// round prunes.
//
// What partial intents set, with MustExist or a Subresource, that are emitted no
// longer is released, pinned to the uid, under the same conditions: our fields go, the
// others' stay. Object and subresource are released apart, and neither where an intent
// for it is still emitted. Fields that two parents set on one object under one field
// manager are one entry: what is released for one parent is released for both. What an
// object cannot be without is in Kept.
//
// A kind that is served no longer holds nothing. Whatever else fails is in a
// *PruneError, of the classes that apply.Classify gives; what the parent says stays then,
// and pruning again continues. Nobody else's objects are
// deleted.
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

	all    bool    // the parent goes, and all members with it
	before lookout // of the rounds before
	again  bool    // something is to be looked at in the next round

	unreleased partials          // that could not be given up
	left       scope             // where members may be afterwards
	dropped    []apply.ObjectRef // to be deleted
	pruned     Pruned
	errs       []error
}

// err is what went wrong, if anything did.
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

// settle has the parent name what is left, and remembers it.
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
