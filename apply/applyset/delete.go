package applyset

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

// Delete deletes all members of the set of a parent that is being deleted, in every namespace,
// and reports whether they are gone. The parent needs a finalizer that is removed only then.
// Delete can be repeated whatever step a process died at.
//
//	_, done, err := sets.Delete(ctx, parent)
//	if err == nil && done {
//		_, err = update.RemoveFinalizer(ctx, updater, parent, finalizer)
//	}
//
// It also releases what partial intents of the parent set. Objects that Prune would keep are
// kept here, too: they are in Pruned.Kept and not waited for. Members that the parent owns are
// deleted and not left to the garbage collector, also if the parent is deleted with
// --cascade=orphan, which concerns owner references only. Members with finalizers are in
// Pruned.Left until they are gone: call Delete again. Kinds that the server no longer serves
// are passed over.
//
// Delete returns ErrNotPruned for a parent that is not being deleted. The other errors are
// those of Sets.Apply for the parent, a UIDMismatchError if the parent is gone, and a
// *PruneError. Earlier rounds of the parent can no longer be pruned.
func (s *Sets) Delete(ctx context.Context, parent client.Object) (pruned Pruned, done bool, err error) {
	r := s.newRound()
	if err := r.identify(parent); err != nil {
		return Pruned{}, false, err
	}
	s.latest.Put(r.parent.UID, r)
	live, err := r.readParent(ctx)
	if err != nil {
		return Pruned{}, false, err
	}
	if live.DeletionTimestamp == nil {
		return Pruned{}, false, fmt.Errorf("%w: %v is not being deleted; nothing was deleted", ErrNotPruned, r.parent)
	}
	r.recorded = recordOf(live)
	if err := r.recorded.mayBecome(r.own); err != nil {
		return Pruned{}, false, &apply.RefusedError{Object: r.parent, Err: err}
	}
	p := &pruning{Round: r, all: true, left: newScope(), unreleased: partials{}}
	p.deleteAll(ctx)
	r.named = s.recordedPartials(live)
	for key := range r.named {
		if key.Key == r.parent.Key() {
			r.named.Delete(key) // the parent goes
		}
	}
	p.release(ctx, sortedPartials(r.named))
	return p.pruned, len(p.errs) == 0 && len(p.pruned.Left) == 0, p.err()
}

// deleteAll deletes every member, and then lists those that are still there, as the answer to a
// delete does not say whether the object is gone.
func (p *pruning) deleteAll(ctx context.Context) {
	p.find(ctx)
	if len(p.dropped) > 0 { // members of another parent of this name have the same label
		if _, err := p.readParent(ctx); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	p.deleteDropped(ctx)
	if len(p.errs) > 0 || len(p.pruned.Deleted) == 0 {
		return
	}
	after := &pruning{Round: p.Round, all: true, left: newScope()}
	after.find(ctx)
	p.pruned.Left, p.errs = slices.Concat(after.pruned.Left, after.dropped), after.errs
}

// parentStands returns an error unless the live parent is the one that was emitted from.
func (p *pruning) parentStands(ctx context.Context) error {
	live, err := p.readParent(ctx)
	switch {
	case err != nil:
		return err
	case live.DeletionTimestamp != nil:
		return &apply.RetryableError{Object: p.parent, Err: errors.New("it is being deleted; nothing was pruned")}
	case live.Generation != p.generation:
		return &apply.RetryableError{Object: p.parent, Err: fmt.Errorf(
			"what it emits is from its generation %d, and it is at %d; nothing was pruned", p.generation, live.Generation)}
	case live.Generation == 0 && live.ResourceVersion != p.version:
		return &apply.RetryableError{Object: p.parent, Err: errors.New(
			"it was written to since it was read, and has no generation that tells whether that matters; nothing was pruned")}
	}
	return nil
}

func (p *pruning) deleteDropped(ctx context.Context) {
	for _, object := range p.dropped {
		if ctx.Err() != nil {
			p.errs = append(p.errs, ctx.Err())
			return
		}
		p.delete(ctx, object)
	}
}

// deleteTries is how often a member is judged if others write to it between the judgement and
// the delete.
const deleteTries = 5

// delete deletes a member at the version that was judged, so that an object that just lost its
// label, or got another owner, stays.
func (p *pruning) delete(ctx context.Context, ref apply.ObjectRef) {
	ctx, leave, err := p.sets.members.Config().Lanes.Enter(ctx, ref.Key())
	if err != nil {
		p.errs = append(p.errs, err)
		return
	}
	defer leave()
	for range deleteTries {
		err := p.deleteAt(ctx, ref)
		switch {
		case err == nil:
			logr.FromContextOrDiscard(ctx).Info("pruned", "kind", ref.Kind, "object", ref.NamespacedName,
				"fieldManager", p.sets.members.FieldManager())
			p.pruned.Deleted = append(p.pruned.Deleted, ref)
			return
		case apierrors.IsNotFound(err):
			return
		case !apply.IsStaleWrite(err) && !errors.Is(err, apply.ErrUIDMismatch):
			p.fail(ctx, ref, fmt.Errorf("deleting it: %w", err))
			return
		}
		if !p.judgeAgain(ctx, &ref) {
			return
		}
	}
	p.errs = append(p.errs, &apply.RetryableError{Object: ref, Err: fmt.Errorf(
		"it was written to before each of %d deletes; it was not deleted", deleteTries)})
}

// deleteAt deletes an object at the version that the reference names.
func (p *pruning) deleteAt(ctx context.Context, ref apply.ObjectRef) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	object.SetGroupVersionKind(ref.GroupVersionKind)
	gone := ref
	gone.ResourceVersion = ""
	p.sets.members.Config().Steady.Wrote(gone) // it may be emitted again at once
	err := p.sets.members.Client().Delete(ctx, object,
		client.Preconditions{UID: &ref.UID, ResourceVersion: &ref.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.DisableReadYourWritesConsistency) // otherwise the client begins to watch the kind's metadata
	return apply.CheckNotFound(ctx, p.sets.members.Config().LiveReader, ref, "", err)
}

// judgeAgain reports whether a member that changed after it was judged is still to be deleted,
// and sets the version at which it was judged now.
func (p *pruning) judgeAgain(ctx context.Context, ref *apply.ObjectRef) bool {
	live, err := p.sets.readMetadata(ctx, *ref)
	switch {
	case apierrors.IsNotFound(err):
		return false
	case err != nil:
		p.fail(ctx, *ref, fmt.Errorf("reading it: %w", err))
		return false
	case live.UID != ref.UID:
		p.keep(*ref, "it was recreated; what has its name now was left alone")
		p.again = true
		return false
	case live.Labels[PartOfLabel] != p.own.id:
		return false // no member any more
	}
	ref.ResourceVersion = live.ResourceVersion
	return p.goes(*ref, live)
}

// releases reports whether the parent names partial intents that are not in the round, except
// those that are known to be kept.
func (r *Round) releases(known knownSet) bool {
	return len(known.partials.Difference(r.partial).Difference(known.lookout.partials)) > 0
}

// release gives up the fields of partial intents that are no longer emitted.
func (p *pruning) release(ctx context.Context, released []intentKey) {
	for _, key := range released {
		if ctx.Err() != nil {
			p.errs = append(p.errs, ctx.Err())
			return
		}
		if err := p.releaseOne(ctx, key); err != nil {
			p.errs = append(p.errs, err)
		}
	}
}

// releaseOne releases one subresource, or the object itself without its subresources: another
// intent for these may still be emitted. An object that was recreated is released as well.
func (p *pruning) releaseOne(ctx context.Context, key intentKey) error {
	object := apply.ObjectRef{GroupVersionKind: key.WithVersion(""), NamespacedName: key.NamespacedName}
	mapping, err := p.sets.members.Client().RESTMapper().RESTMapping(key.GroupKind)
	switch {
	case meta.IsNoMatchError(err):
		return nil // a kind that is no longer served has no objects
	case err != nil:
		return apply.Classify(ctx, object, fmt.Errorf("looking for its version: %w", err))
	}
	object.GroupVersionKind = mapping.GroupVersionKind
	refused := (*apply.RefusedError)(nil)
	outcome, err := p.sets.members.Release(ctx, object, key.subresource)
	switch {
	case apierrors.IsNotFound(err):
		return nil // nor does a version
	case errors.As(err, &refused) && apierrors.IsInvalid(err):
		p.unreleased.Insert(key)
		p.pruned.Kept = append(p.pruned.Kept, Kept{Object: object, Reason: wire.OneLine(refused.Err)})
		return nil
	case outcome.Action == apply.Configured:
		p.pruned.Released = append(p.pruned.Released, outcome.Object)
	}
	return err
}
