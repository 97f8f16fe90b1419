package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotPruned says that a round cannot be pruned: not everything that its parent
// emits stands, which wraps the first of Round.Errs as well, or there is a later
// round, be it one that failed. Nothing was deleted.
var ErrNotPruned = errors.New("not pruned")

// Pruned is what became of the members that a parent emits no longer.
type Pruned struct {
	Deleted []ObjectRef // by uid; an object with finalizers goes when these are gone
	Kept    []Kept      // looked at again in each round
}

// Kept is an object that has the set's label, is emitted no longer, and was not
// deleted.
type Kept struct {
	Object ObjectRef
	Reason string // the same as long as the trouble is
}

// String gives the object and the reason.
func (k Kept) String() string {
	return fmt.Sprintf("%v is emitted no longer and was kept: %s", k.Object, k.Reason)
}

// PruneError is everything that failed while a set was pruned. What else could be
// deleted was.
type PruneError struct {
	Parent ObjectRef
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

// Prune deletes the members that the parent emits no longer, each pinned to its
// uid, with background propagation, and then shrinks what the parent says to where
// members are now. It refuses a round of which anything failed, with ErrNotPruned.
//
// A label alone deletes nothing, as anybody can copy or forge one. An object is
// kept when the label is not owned by the applier's field manager (Apply), when it
// has owners and the parent is none of them, when it is being deleted already, or
// when it was recreated meanwhile. Nothing is deleted unless the parent, read past
// the cache, is the same object, is not being deleted and is at the generation that
// was emitted from. (A Deployment counts its annotations in its generation: as a
// parent it can be pruned only in the round after one that wrote to it.)
//
// A kind that is served no longer holds nothing. Whatever else fails is in a
// *PruneError, of the classes that Classify gives; what the parent says stays then,
// and pruning again continues. Nobody else's objects are touched.
func (r *Round) Prune(ctx context.Context) (Pruned, error) {
	if !r.complete {
		return Pruned{}, r.notStanding()
	}
	if latest, _ := r.sets.latest.Get(r.parent.UID); latest != r {
		return Pruned{}, fmt.Errorf("%w: there is a later round of %v", ErrNotPruned, r.parent)
	}
	if known, ok := r.sets.knownOf(r.parent); ok && known.complete && len(known.applied) == len(r.members) {
		return Pruned{}, nil
	}
	p := &pruning{Round: r, left: r.emitted.union(newScope())}
	p.run(ctx)
	if len(p.errs) > 0 {
		return p.pruned, &PruneError{Parent: r.parent, Errs: p.errs}
	}
	return p.pruned, nil
}

func (r *Round) notStanding() error {
	if len(r.Errs) == 0 {
		return fmt.Errorf("%w: nothing was applied in this round; ApplySets.Apply gives one", ErrNotPruned)
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

	left    scope       // where members may be afterwards
	dropped []ObjectRef // to be deleted
	pruned  Pruned
	errs    []error
}

func (p *pruning) run(ctx context.Context) {
	recorded := p.recorded.scope()
	for _, kind := range recorded.sortedKinds() {
		p.findKind(ctx, kind, sets.List(recorded.namespaces))
	}
	if len(p.dropped) > 0 {
		if err := p.parentStands(ctx); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	for _, object := range p.dropped {
		if ctx.Err() != nil {
			p.errs = append(p.errs, ctx.Err())
			return
		}
		p.delete(ctx, object)
	}
	if len(p.errs) > 0 {
		return
	}
	if p.recorded != (record{}) {
		if err := p.write(ctx, p.own.with(p.left)); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	p.sets.known.Add(p.parent.UID, knownSet{
		record: p.recorded, applied: p.members, complete: len(p.pruned.Kept) == 0,
	})
}

// parentStands holds that what was emitted is what the parent calls for now.
func (p *pruning) parentStands(ctx context.Context) error {
	live, err := p.readParent(ctx)
	switch {
	case err != nil:
		return err
	case live.DeletionTimestamp != nil:
		return &RetryableError{Object: p.parent, Err: errors.New("it is being deleted; nothing was pruned")}
	case live.Generation != p.generation:
		return &RetryableError{Object: p.parent, Err: fmt.Errorf(
			"what it emits is from its generation %d, and it is at %d; nothing was pruned", p.generation, live.Generation)}
	}
	return nil
}

func (p *pruning) delete(ctx context.Context, ref ObjectRef) {
	ctx, leave, err := p.sets.members.config.Lanes.Enter(ctx, ref)
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	defer leave()
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	object.SetGroupVersionKind(ref.GroupVersionKind)
	p.sets.members.wroteElse(ref) // it may be emitted again at once
	err = p.sets.members.client.Delete(ctx, object, client.Preconditions{UID: &ref.UID},
		client.PropagationPolicy(metav1.DeletePropagationBackground))
	switch {
	case err == nil:
		logr.FromContextOrDiscard(ctx).Info("pruned", "kind", ref.Kind, "object", ref.NamespacedName,
			"fieldManager", p.sets.members.FieldManager())
		p.pruned.Deleted = append(p.pruned.Deleted, ref)
	case apierrors.IsNotFound(err):
	case IsStaleWrite(err):
		p.explain(ctx, ref, err)
	default:
		p.fail(ctx, ref, fmt.Errorf("deleting it: %w", err))
	}
}

// explain tells by a read what the 409 of a delete is: a uid that is no more, or
// something that passes.
func (p *pruning) explain(ctx context.Context, ref ObjectRef, refused error) {
	live, err := p.sets.readMetadata(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		p.fail(ctx, ref, fmt.Errorf("reading it: %w", err))
	case live.UID != ref.UID:
		p.keep(ref, "it was recreated; what has its name now was left alone")
	default:
		p.errs = append(p.errs, &RetryableError{Object: ref, Err: fmt.Errorf("deleting it: %w", refused)})
	}
}

func (p *pruning) fail(ctx context.Context, object ObjectRef, err error) {
	p.errs = append(p.errs, Classify(ctx, object, err))
}
