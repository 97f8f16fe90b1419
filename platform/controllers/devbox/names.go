package devbox

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

const (
	kind = "Devbox"
	// Label on everything that belongs to a Devbox; its value is the Devbox's name.
	Label = "platform.coapply.dev/devbox"
	// Finalizer keeps a Devbox until its Deployment and pods are gone.
	Finalizer = "platform.coapply.dev/devbox-workload"
	// PodFinalizer keeps a pod until its container's last status is recorded.
	PodFinalizer = "platform.coapply.dev/record-status"
	// ContentAnnotation is on the pod template; its value is status.contentID.
	ContentAnnotation = "platform.coapply.dev/content-id"
	// ContainerName is the name of the Devbox's container in its pod.
	ContainerName = "devbox"
)

// labels returns the labels of a Devbox's objects. Selectors use Label alone, as they cannot
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
