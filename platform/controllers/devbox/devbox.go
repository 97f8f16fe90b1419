// Package devbox has the four reconcilers of Devboxes. Each has its own field manager and its own
// file, and the intents that it applies depend only on the Devbox:
//
//	content   status.contentID; applies no object
//	workload  the Deployment without its replicas; the status of ended pods; the finalizers of the Devbox and of its pods
//	power     the Deployment's replicas
//	network   the Service
//
// Each pod of a Devbox has a finalizer. The workload reconciler removes it once the pod has ended and the Devbox's status has two facts
// about the pod: the last status of its container, and the contentID from which the container started.
//
// When spec.image changes, the content reconciler first computes a new status.contentID. Only then does the workload reconciler apply the
// new image to the Deployment, together with this contentID. After that, each new contentID also replaces the pod.
//
// The workload reconciler does not own the replicas. It creates the Deployment without them, so the
// API server sets them to 1, and a pod is started. Therefore it does not create the Deployment before
// spec.state is Running: a Devbox that is created with the state Stopped has no Deployment and no pod.
package devbox

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// RBAC rules of the reconcilers, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

const (
	kind = "Devbox"
	// Label is a label on every object that belongs to a Devbox; its value is the Devbox's name.
	Label = "platform.coapply.dev/devbox"
	// Finalizer is the finalizer of a Devbox. It is removed once the Devbox's Deployment and pods no longer exist.
	Finalizer = "platform.coapply.dev/devbox-workload"
	// PodFinalizer is the finalizer of a Devbox's pod. It is removed once the Devbox's status has the last status of the pod's container.
	PodFinalizer = "platform.coapply.dev/record-status"
	// ContentAnnotation is an annotation of the pod template and so of each pod. Its value is the
	// Devbox's status.contentID when the template was applied.
	ContentAnnotation = "platform.coapply.dev/content-id"
	// ContainerName is the name of the container in a Devbox's pod.
	ContainerName = "devbox"
)

// labels returns the labels of all objects of a Devbox. A Deployment's selector has only the label Label, because the
// selector is immutable, whereas a new version of the platform may change the other labels.
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

// isDevboxes reports whether a Deployment or Service belongs to the Devbox that has the same name.
func isDevboxes(_ *v1alpha1.Devbox, object client.Object) bool {
	return setup.Belongs(object, kind, object.GetName(), Label)
}

// ownPods returns those of the given pods that belong to the Devbox: pods that a ReplicaSet of its Deployment controls, and pods without
// a controller that have our finalizer. The Devbox's label on a pod is no proof, because any client may set it.
func ownPods(box metav1.Object, pods []*corev1.Pod) []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return !isOwnPod(box, pod) })
}

func isOwnPod(box metav1.Object, pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return slices.Contains(pod.Finalizers, PodFinalizer)
	}
	return owner.Kind == "ReplicaSet" && owner.Name == setName(box, pod)
}

// isOwnSet reports whether a ReplicaSet belongs to the Devbox's Deployment, or belonged to it
// before the ReplicaSet lost its owner reference.
func isOwnSet(box metav1.Object, set *appsv1.ReplicaSet) bool {
	owner := metav1.GetControllerOf(set)
	return set.Name == setName(box, set) && (owner == nil || owner.Kind == "Deployment" && owner.Name == box.GetName())
}

// setName returns the name that the Devbox's ReplicaSet has for a pod template hash. The hash is a
// label of hashed, which is the ReplicaSet or one of its pods.
func setName(box, hashed metav1.Object) string {
	return box.GetName() + "-" + hashed.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
}
