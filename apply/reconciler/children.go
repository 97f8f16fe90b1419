package reconciler

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
)

// emit returns the intents that Config.Emit computes. Where Config.Emit has not set Intent.Belongs, emit sets it to
// Config.Belongs. If Config.Belongs is nil, emit sets it to isChild, except for intents with MustExist. For intents
// with a Subresource, emit does not set it.
func (r *Reconciler[P]) emit(ctx context.Context, parent P) ([]apply.Intent, error) {
	emitted, err := r.emitPurely(parent)
	if err != nil {
		return nil, err
	}
	intents := slices.Clone(emitted)
	for i, intent := range intents {
		switch {
		case intent.Belongs != nil || intent.Subresource != "":
		case r.Belongs != nil:
			intents[i].Belongs = func(child client.Object) bool { return r.Belongs(parent, child) }
		case !intent.MustExist:
			intents[i].Belongs = func(object client.Object) bool { return r.isChild(ctx, parent, intent, object) }
		}
	}
	return intents, nil
}

// isChild is the default for Config.Belongs, which lists the rules. It reports whether an existing object is the parent
// itself or a child of the parent. If the intent sets an owner reference, an object without this reference was created
// by somebody else: the apply would add the reference, and the object would later be deleted with the parent.
func (r *Reconciler[P]) isChild(ctx context.Context, parent P, intent apply.Intent, object client.Object) bool {
	isParent := func(owner metav1.OwnerReference) bool { return owner.UID == parent.GetUID() }
	applied := func(entry metav1.ManagedFieldsEntry) bool {
		return r.isOurs(entry) && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
	}
	owners := object.GetOwnerReferences()
	switch {
	case object.GetUID() == parent.GetUID():
		return true
	case len(owners) > 0:
		return slices.ContainsFunc(owners, isParent)
	case r.sets != nil:
		return r.sets.Has(parent, object) || r.adopts(ctx, object)
	}
	set, err := intent.OwnerReferences()
	return slices.ContainsFunc(object.GetManagedFields(), applied) && err == nil && len(set) == 0
}

// adopts reports whether an object without owner references becomes a member of the parent's ApplySet. The object must
// not have the label of any ApplySet, because such an object belongs to another parent. Our field manager must be the
// only writer of the object, as for an object that it created before Prune was set. Otherwise a deletion of the parent
// would also delete the work of another writer. If two parents have an intent for the same object, the first parent
// adopts it. adopts checks the live object, because the cached object may be out of date, or may lack the managed
// fields entries of other managers (see fieldowners.KeepOwn).
func (r *Reconciler[P]) adopts(ctx context.Context, object client.Object) bool {
	kind, err := r.Applier.Client().GroupVersionKindFor(object)
	if err != nil || !r.isUnclaimed(object) {
		return false
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(kind)
	err = r.Applier.Config().LiveReader.Get(ctx, client.ObjectKeyFromObject(object), live)
	return err == nil && live.GetUID() == object.GetUID() && r.isUnclaimed(live)
}

// isUnclaimed reports whether an object has neither owner references nor an ApplySet label, and was written only by
// our field manager, at least once by Apply. Writes through a subresource are ignored: they cannot create an object.
func (r *Reconciler[P]) isUnclaimed(object client.Object) bool {
	applied := false
	for _, entry := range object.GetManagedFields() {
		switch {
		case entry.Subresource != "":
		case !r.isOurs(entry):
			return false
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			applied = true
		}
	}
	return applied && len(object.GetOwnerReferences()) == 0 && object.GetLabels()[applyset.PartOfLabel] == ""
}

func (r *Reconciler[P]) isOurs(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == r.Applier.FieldManager()
}
