package reconciler

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
)

// emit gives what the parent calls for, each intent with whose its object has to be.
func (r *Reconciler[P]) emit(parent P) ([]apply.Intent, error) {
	emission, err := r.Emit(parent)
	if err != nil {
		return nil, err
	}
	intents := slices.Clone(emission.Intents)
	for i, intent := range intents {
		switch {
		case intent.Belongs != nil, intent.Subresource != "":
		case r.Belongs != nil:
			intents[i].Belongs = func(child client.Object) bool { return r.Belongs(parent, child) }
		case !intent.MustExist:
			intents[i].Belongs = func(child client.Object) bool { return isChild(parent, child, r.Applier.FieldManager()) }
		}
	}
	return intents, nil
}

// isChild is what Config.Belongs is by default. The parent itself may be applied to, too.
func isChild(parent, object client.Object, fieldManager string) bool {
	if owners := object.GetOwnerReferences(); len(owners) > 0 {
		isParent := func(owner metav1.OwnerReference) bool { return owner.UID == parent.GetUID() }
		return slices.ContainsFunc(owners, isParent) || object.GetUID() == parent.GetUID()
	}
	applied := func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Subresource == ""
	}
	return object.GetUID() == parent.GetUID() || slices.ContainsFunc(object.GetManagedFields(), applied)
}
