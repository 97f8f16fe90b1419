package setup

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// Belongs reports whether an object is controlled by our kind's object of a name, or is Orphaned
// by it. It goes by the name, not the uid: an object of the parent that had the name before is
// about to be collected. Without a name there is no such parent.
func Belongs(object metav1.Object, kind, name, label string) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return Orphaned(object, label, name)
	}
	return name != "" && owner.Kind == kind && owner.Name == name && owner.APIVersion == v1alpha1.SchemeGroupVersion.String()
}

// Orphaned reports whether an object has no controller, the label with its parent's name, and
// fields that we applied: somebody has removed its owner reference. The label alone is no
// proof, as anybody may set it; config/admission reserves our field managers' names.
func Orphaned(object metav1.Object, label, name string) bool {
	return name != "" && metav1.GetControllerOf(object) == nil && object.GetLabels()[label] == name && applied(object)
}

func applied(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(entry.Manager, fieldmanagers.Prefix)
	})
}

// OwnedBy returns an owner reference that makes a parent of ours the controller of an object.
func OwnedBy(kind string, parent metav1.Object) *metav1ac.OwnerReferenceApplyConfiguration {
	return coapply.OwnedBy(parent, v1alpha1.SchemeGroupVersion.WithKind(kind))
}
