package devbox

import "coapply.dev/api/v1alpha1"

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
