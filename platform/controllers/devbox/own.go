package devbox

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
