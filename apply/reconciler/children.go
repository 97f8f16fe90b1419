package reconciler

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// emit returns the intents of a parent, each with its Belongs, and reports whether Emit had set
// a Belongs itself.
func (r *Reconciler[P]) emit(parent P) (intents []apply.Intent, judged bool, err error) {
	emission, err := r.Emit(parent)
	if err != nil {
		return nil, false, err
	}
	intents = slices.Clone(emission.Intents)
	for i, intent := range intents {
		switch {
		case intent.Belongs != nil:
			judged = true
		case intent.Subresource != "":
		case r.Belongs != nil:
			intents[i].Belongs = func(child client.Object) bool { return r.Belongs(parent, child) }
		case !intent.MustExist:
			intents[i].Belongs = func(object client.Object) bool { return r.isChild(parent, intent, object) }
		}
	}
	return intents, judged, nil
}

// isChild is the default of Config.Belongs. It is also true for the parent itself. For an
// object without owners, fields that we applied are no proof if adopting it would have it
// deleted with the parent, that is, if the intent sets an owner reference or the set's label:
// objects of ours have these from birth.
func (r *Reconciler[P]) isChild(parent P, intent apply.Intent, object client.Object) bool {
	isParent := func(owner metav1.OwnerReference) bool { return owner.UID == parent.GetUID() }
	applied := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == r.Applier.FieldManager() && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
	}
	owners := object.GetOwnerReferences()
	switch {
	case object.GetUID() == parent.GetUID():
		return true
	case len(owners) > 0:
		return slices.ContainsFunc(owners, isParent)
	case r.sets != nil:
		return r.sets.Has(parent, object)
	}
	return slices.ContainsFunc(object.GetManagedFields(), applied) && !intent.SetsOwner()
}
