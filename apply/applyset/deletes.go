package applyset

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

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
