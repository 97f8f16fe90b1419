package devbox

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/api/v1alpha1"
)

const (
	// Label on everything that belongs to a Devbox; its value is the Devbox's name.
	Label = "platform.coapply.dev/devbox"
	// Finalizer of a Devbox: its Deployment and pods go first.
	Finalizer = "platform.coapply.dev/devbox-workload"
	// PodFinalizer keeps a pod until its container's last status is recorded.
	PodFinalizer = "platform.coapply.dev/record-status"
	// ContentAnnotation on the pod template carries status.contentID.
	ContentAnnotation = "platform.coapply.dev/content-id"
	// ContainerName of the devbox in its pod.
	ContainerName = "devbox"
)

// labels of a Devbox's objects. Selectors use the first alone, as they cannot
// change.
func labels(box *v1alpha1.Devbox) map[string]string {
	return map[string]string{
		Label:                          box.Name,
		"app.kubernetes.io/name":       "devbox",
		"app.kubernetes.io/managed-by": "coapply",
	}
}

func selector(box *v1alpha1.Devbox) map[string]string {
	return map[string]string{Label: box.Name}
}

// ownedBy makes the Devbox the controller of an object, which is therefore
// garbage-collected with it.
func ownedBy(box *v1alpha1.Devbox) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(v1alpha1.SchemeGroupVersion.String()).
		WithKind("Devbox").
		WithName(box.Name).
		WithUID(box.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}

// belongsTo tells whether the Devbox controls an object.
func belongsTo(object metav1.Object, box *v1alpha1.Devbox) bool {
	return metav1.IsControlledBy(object, box)
}
