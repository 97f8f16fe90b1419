package nodeset

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"coapply.dev/platform/api/v1alpha1"
)

// replicas returns how many pods a NodeSet wants; the API server's default is 1.
func replicas(set *v1alpha1.NodeSet) int { return int(ptr.Deref(set.Spec.Replicas, 1)) }

// isAsWanted reports whether those fields of a pod of the revision that can change are as
// podIntent sets them.
func isAsWanted(set *v1alpha1.NodeSet, pod *corev1.Pod, revision string) bool {
	for name, value := range labels(set, revision) {
		if pod.Labels[name] != value {
			return false
		}
	}
	return metav1.IsControlledBy(pod, set) && image(pod) == set.Spec.Image
}

func image(pod *corev1.Pod) string {
	for i := range pod.Spec.Containers {
		if pod.Spec.Containers[i].Name == ContainerName {
			return pod.Spec.Containers[i].Image
		}
	}
	return ""
}
