package devbox

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/setup"
)

const (
	kind = "Devbox"
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

// isDevboxes reports whether an object belongs to the Devbox of its name.
func isDevboxes(_ *v1alpha1.Devbox, object client.Object) bool {
	return setup.Belongs(object, kind, object.GetName(), Label)
}
