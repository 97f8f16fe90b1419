package applyset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/apply/ownership"
)

// Delete deletes all members of the set of a parent that is being deleted, in all namespaces. The result done reports
// whether all members are gone. Add a finalizer to the parent, and remove the finalizer only when done is true. If the
// process dies during Delete, call Delete again.
//
//	_, done, err := sets.Delete(ctx, parent)
//	if err == nil && done {
//		_, err = update.RemoveFinalizer(ctx, updater, parent, finalizer)
//	}
//
// Delete also releases the fields of the parent's partial intents (MustExist or a Subresource). Like Prune, Delete
// keeps some objects, for example those with another owner. They do not affect done. Members whose deletion is delayed
// by finalizers are returned in Pruned.Left: call Delete again. Delete does not rely on the garbage collector, so it
// also deletes the members if the parent is deleted with --cascade=orphan.
//
// Delete returns ErrNotPruned if the parent is not being deleted, a UIDMismatchError if the parent does not exist, and
// a *PruneError if members could not be deleted. Delete may also return an error that Sets.Apply returns for the
// parent. After Delete, Prune of an earlier Round of the parent returns an error.
func (s *Sets) Delete(ctx context.Context, parent client.Object) (pruned Pruned, done bool, err error) {
	r, err := s.begin(parent)
	if err != nil {
		return Pruned{}, false, err
	}
	live, err := r.readParent(ctx)
	switch {
	case err != nil:
		return Pruned{}, false, err
	case live.DeletionTimestamp == nil:
		return Pruned{}, false, fmt.Errorf("%w: the parent %v has no deletionTimestamp, so none of its objects were deleted", ErrNotPruned, r.parent)
	}
	r.recorded = recordOf(live)
	if err := r.checkOwner(r.recorded); err != nil {
		return Pruned{}, false, err
	}
	p := &pruning{Round: r, all: true, left: newScope(), unreleased: partials{}}
	p.deleteAll(ctx)
	r.named = s.recordedPartials(live)
	maps.DeleteFunc(r.named, func(key intentKey, _ sets.Empty) bool {
		return key.Key == r.parent.Key() // needs no release, because the parent is being deleted
	})
	forEach(ctx, p, sortedPartials(r.named), p.release)
	return p.pruned, len(p.errs) == 0 && len(p.pruned.Left) == 0, p.err()
}

// deleteAll deletes all members, and then lists those that still exist. The second listing is necessary because the
// response to a delete request does not show whether the object still exists.
func (p *pruning) deleteAll(ctx context.Context) {
	p.find(ctx)
	if len(p.dropped) > 0 { // check the parent's uid: the members of a recreated parent have the same label, but must stay
		if _, err := p.readParent(ctx); err != nil {
			p.errs = append(p.errs, err)
			return
		}
	}
	forEach(ctx, p, p.dropped, p.delete)
	if len(p.errs) > 0 || len(p.pruned.Deleted) == 0 {
		return
	}
	after := &pruning{Round: p.Round, all: true, left: newScope()}
	after.find(ctx)
	p.pruned.Left, p.errs = slices.Concat(after.pruned.Left, after.dropped), after.errs
}

// parentStands reads the live parent. It returns an error if the parent was deleted or changed after the intents of
// the round were computed.
func (p *pruning) parentStands(ctx context.Context) error {
	live, err := p.readParent(ctx)
	switch {
	case err != nil:
		return err
	case live.DeletionTimestamp != nil:
		return &apply.RetryableError{Object: p.parent, Err: errors.New("the parent is being deleted; nothing was pruned")}
	case live.Generation != p.generation:
		return &apply.RetryableError{Object: p.parent, Err: fmt.Errorf(
			"the intents were computed from generation %d of the parent, but the parent is now at generation %d; nothing was pruned", p.generation, live.Generation)}
	case live.Generation == 0 && live.ResourceVersion != p.version:
		return &apply.RetryableError{Object: p.parent, Err: errors.New(
			"the parent's resourceVersion has changed since the parent was read, and the parent's kind has no generation, so the intents may be out of date; nothing was pruned")}
	}
	return nil
}

// deleteTries is the maximum number of delete requests for a member that changes after each check.
const deleteTries = 5

// delete deletes a member at the resourceVersion that was checked. So it does not delete an object that has meanwhile
// lost the set's label or got another owner.
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
			p.fail(ctx, ref, fmt.Errorf("deleting the member: %w", err))
			return
		}
		if !p.judgeAgain(ctx, &ref) {
			return
		}
	}
	p.errs = append(p.errs, &apply.RetryableError{Object: ref, Err: fmt.Errorf(
		"the member was not deleted: another writer changed the member before each of %d delete requests", deleteTries)})
}

// deleteAt sends a delete request with the uid and resourceVersion of ref as preconditions.
func (p *pruning) deleteAt(ctx context.Context, ref apply.ObjectRef) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	object.SetGroupVersionKind(ref.GroupVersionKind)
	gone := ref
	gone.ResourceVersion = ""
	p.sets.members.Config().Steady.Wrote(gone) // the cache still has the object, so the next apply must not be skipped as a no-op
	err := p.sets.members.Client().Delete(ctx, object,
		client.Preconditions{UID: &ref.UID, ResourceVersion: &ref.ResourceVersion},
		client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.DisableReadYourWritesConsistency) // otherwise the client would start a watch of the kind's metadata
	return apply.CheckNotFound(ctx, p.sets.members.Config().LiveReader, ref, "", err)
}

// judgeAgain reads a member that has changed after the check, and checks it again. It reports whether to delete the
// member, and sets the new resourceVersion in ref.
func (p *pruning) judgeAgain(ctx context.Context, ref *apply.ObjectRef) bool {
	live, err := p.sets.readMetadata(ctx, *ref)
	switch {
	case apierrors.IsNotFound(err):
		return false
	case err != nil:
		p.fail(ctx, *ref, fmt.Errorf("reading the member: %w", err))
		return false
	case live.UID != ref.UID:
		p.keep(*ref, "the object was recreated, and the new object was not changed")
		p.again = true
		return false
	case live.Labels[PartOfLabel] != p.own.id:
		return false // the object is no longer a member
	}
	ref.ResourceVersion = live.ResourceVersion
	return p.goes(*ref, live)
}

// release releases the fields of one partial intent that is no longer desired, also in a recreated object.
func (p *pruning) release(ctx context.Context, key intentKey) {
	object := apply.ObjectRef{GroupVersionKind: key.WithVersion(""), NamespacedName: key.NamespacedName}
	mapping, err := p.sets.members.Client().RESTMapper().RESTMapping(key.GroupKind)
	switch {
	case meta.IsNoMatchError(err):
		return // a kind that is no longer served has no objects
	case err != nil:
		p.fail(ctx, object, fmt.Errorf("looking up the version of the kind: %w", err))
		return
	}
	object.GroupVersionKind = mapping.GroupVersionKind
	outcome, err := ownership.Release(ctx, p.sets.members, object, key.subresource)
	refused, _ := errors.AsType[*apply.RefusedError](err)
	switch {
	case apierrors.IsNotFound(err): // a version that is no longer served has no objects
	case refused != nil && apierrors.IsInvalid(err):
		p.unreleased.Insert(key)
		p.pruned.Kept = append(p.pruned.Kept, Kept{Object: object, Reason: wire.OneLine(refused.Err)})
	case err != nil:
		p.errs = append(p.errs, err)
	case outcome.Action == apply.Configured:
		p.pruned.Released = append(p.pruned.Released, outcome.Object)
	}
}
