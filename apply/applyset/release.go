package applyset

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

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
