package applyset

import (
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
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
