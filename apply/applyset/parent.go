package applyset

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
)

// announce writes the kinds and namespaces of all members, and the partial intents, to the parent's annotations. It
// must be called before the first intent is applied. It first reads the live parent, unless the caller's copy of the
// parent has the label and annotations that this process has last read or written.
func (r *Round) announce(ctx context.Context) error {
	known, ok := r.sets.known.Get(r.parent.UID)
	if !ok || known.record != r.read {
		live, err := r.readParent(ctx)
		if err != nil {
			return err
		}
		if now := recordOf(live); known.record != now {
			known = knownSet{record: now, partials: known.partials.Union(r.sets.recordedPartials(live))}
		}
	}
	if err := r.checkOwner(known.record); err != nil {
		return err
	}
	r.recorded, r.named = known.record, known.partials.Union(r.partial)
	if r.recorded != (record{}) || len(r.emitted.kinds)+len(r.partial) > 0 {
		if err := r.write(ctx, r.recorded.scope().union(r.emitted)); err != nil {
			return err
		}
	}
	r.sets.known.Put(r.parent.UID, knownSet{
		record: r.recorded, applied: known.applied.Union(r.members), complete: known.complete, lookout: known.lookout, partials: r.named,
	})
	return nil
}

// write writes the record with the given scope and the partial intents in r.named to the parent's label and
// annotations, unless the parent already has this record.
//
// If the parent's kind has no generation, only the resourceVersion shows whether another writer has changed the parent.
// For such a parent, write first applies the record pinned to the last known resourceVersion, and stores the
// resourceVersion of the response. If the parent has changed, write applies the record without a resourceVersion, and
// this round deletes nothing.
func (r *Round) write(ctx context.Context, members scope) error {
	to := r.own.with(members).withPartials(r.named, r.recorded)
	if to == r.recorded {
		return nil
	}
	r.sets.known.Remove(r.parent.UID) // if the response is lost, the record in the parent is unknown
	config := wire.Named(r.parent.GroupVersionKind, r.parent.NamespacedName)
	config.SetUID(r.parent.UID)
	config.SetLabels(map[string]string{idLabel: to.id})
	config.SetAnnotations(to.annotations())
	var err error
	pinned := r.generation == 0 && r.version != ""
	if pinned {
		err = r.sendPinned(ctx, config.DeepCopy())
	}
	if !pinned || err != nil && !errors.Is(err, apply.ErrRefused) {
		_, err = r.sets.parents.Apply(ctx, apply.Intent{Config: client.ApplyConfigurationFromUnstructured(config)})
	}
	if err == nil {
		r.recorded = to
	}
	return err
}

// sendPinned applies config to the parent once, pinned to the resourceVersion that was read.
func (r *Round) sendPinned(ctx context.Context, config *unstructured.Unstructured) error {
	ctx, leave, err := r.sets.parents.Config().Lanes.Enter(ctx, r.parent.Key())
	defer leave()
	if err != nil {
		return err
	}
	config.SetResourceVersion(r.version)
	r.version = ""
	err = r.sets.parents.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(config), client.FieldOwner(r.sets.parents.FieldManager()))
	if err != nil {
		return apply.Classify(ctx, r.parent, err)
	}
	r.version = config.GetResourceVersion() // the resourceVersion of the response
	return nil
}

// readParent returns the metadata of the live parent. If the parent was deleted or recreated, the error is a
// UIDMismatchError.
func (r *Round) readParent(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	live, err := r.sets.readMetadata(ctx, r.parent)
	switch {
	case wire.IsAbsent(err, r.parent.Name):
		return nil, &apply.UIDMismatchError{Object: r.parent, Err: err}
	case err != nil:
		return nil, apply.Classify(ctx, r.parent, fmt.Errorf("reading the parent: %w", err))
	case live.UID != r.parent.UID:
		return nil, &apply.UIDMismatchError{Object: r.parent, Err: fmt.Errorf("the live object has uid %s", live.UID)}
	}
	return live, nil
}

func (s *Sets) readMetadata(ctx context.Context, object apply.ObjectRef) (*metav1.PartialObjectMetadata, error) {
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(object.GroupVersionKind)
	return live, s.parents.Config().LiveReader.Get(ctx, object.NamespacedName, live)
}
