// Package devbox reconciles a Devbox with four reconcilers, each with its own field manager and
// its own file. The intents of a reconciler are a pure function of the Devbox.
//
//	content   status.contentID; applies no object
//	workload  the Deployment without its replicas; the end of its pods; the finalizer
//	power     the Deployment's replicas
//	network   the Service
//
// A pod keeps our finalizer until the Devbox's status has the last status of the pod's container
// and the contentID from which the container started.
//
// The workload reconciler applies the Deployment, and a new image, only once status.contentID
// belongs to the image. After that a new contentID replaces the pod.
//
// The workload reconciler does not own the replicas, so it creates the Deployment without them,
// and the API server sets them to 1. It therefore creates the Deployment when the Devbox is first
// Running: a Devbox that is created Stopped has no Deployment and no pod.
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
	// Finalizer keeps a Devbox until its Deployment and pods are gone.
	Finalizer = "platform.coapply.dev/devbox-workload"
	// PodFinalizer keeps a pod until the Devbox's status has the last status of the pod's container.
	PodFinalizer = "platform.coapply.dev/record-status"
	// ContentAnnotation is an annotation of the pod template; its value is status.contentID.
	ContentAnnotation = "platform.coapply.dev/content-id"
	// ContainerName is the name of the Devbox's container in its pod.
	ContainerName = "devbox"
)

// labels returns the labels of a Devbox's objects. Selectors use only the label Label, because the
// selector of a Deployment is immutable and the other labels may change.
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

// isDevboxes reports whether an object, a Deployment or a Service, belongs to the Devbox of the same name.
func isDevboxes(_ *v1alpha1.Devbox, object client.Object) bool {
	return setup.Belongs(object, kind, object.GetName(), Label)
}

// ownPods returns the pods that belong to the Devbox: pods of a ReplicaSet of its Deployment, and pods
// without a controller that have our finalizer. The label does not prove this, because any client may set it.
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

// isOwnSet reports whether a ReplicaSet belongs to the Devbox's Deployment, or did before it lost its owner.
func isOwnSet(box metav1.Object, set *appsv1.ReplicaSet) bool {
	owner := metav1.GetControllerOf(set)
	return set.Name == setName(box, set) && (owner == nil || owner.Kind == "Deployment" && owner.Name == box.GetName())
}

// setName returns the name of the Devbox's ReplicaSet whose pod-template-hash label is that of
// hashed, a pod or ReplicaSet.
func setName(box, hashed metav1.Object) string {
	return box.GetName() + "-" + hashed.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
}
