// Package devbox reconciles a Devbox with four reconcilers, each under its own field manager:
// workload, power, network and content. Each has a file with its wiring and its intent, a pure
// function of the Devbox; content emits no object.
//
//	content   which content the Devbox starts from
//	workload  the Deployment but its replicas; the pods' end; the finalizer
//	power     the Deployment's replicas
//	network   the Service
//
// A pod keeps our finalizer until its container's last status is in the Devbox's status,
// together with the content on which it ran.
//
// The Deployment is made, and changed to a new image, only once there is a content of the
// image. After that a new content replaces the pod.
//
// The workload reconciler creates the Deployment without replicas, as it does not own them, and
// the API server then writes 1. So the Deployment is made when the Devbox is to run for the
// first time: a Devbox that is created Stopped has no Deployment, and no pod.
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

// What the reconcilers may do, for config/rbac/role.yaml.
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

// ownPods returns the pods that a ReplicaSet of the Deployment has made, and those that lost
// their ReplicaSet and still have our finalizer. The label is no proof, as anybody may set it.
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

// isOwnSet reports whether a ReplicaSet belongs to the Deployment, or did.
func isOwnSet(box metav1.Object, set *appsv1.ReplicaSet) bool {
	owner := metav1.GetControllerOf(set)
	return set.Name == setName(box, set) && (owner == nil || owner.Kind == "Deployment" && owner.Name == box.GetName())
}

// setName returns the name that a Deployment gives to the ReplicaSet with the hash of hashed.
func setName(box, hashed metav1.Object) string {
	return box.GetName() + "-" + hashed.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
}
