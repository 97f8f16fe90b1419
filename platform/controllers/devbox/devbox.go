// Package devbox contains the four reconcilers of Devboxes. Each reconciler has its own field manager and its own
// file. The intents of a reconciler depend only on the Devbox:
//
//	content   sets status.contentID; applies no object
//	workload  applies the Deployment without its replicas; records the status of ended pods; handles the finalizers
//	power     applies the replicas of the Deployment
//	network   applies the Service
//
// Each pod of a Devbox has a finalizer. When a pod has ended, the workload reconciler first records two facts in the
// Devbox's status: the last status of the pod's container, and the contentID from which this container started. Then
// it removes the finalizer of the pod.
//
// When spec.image changes, the content reconciler computes a new status.contentID. The workload reconciler waits for
// the new contentID, and applies it to the Deployment together with the new image. The contentID is in an annotation
// of the pod template, so each later contentID also replaces the pod.
//
// The workload reconciler does not own the replicas of the Deployment. When it creates the Deployment, the API server
// sets the replicas to 1, and a pod starts. Therefore the Deployment is not created before spec.state is Running. A
// Devbox that is created with the state Stopped has no Deployment and no pod.
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
	// ContentAnnotation is an annotation of the pod template and of each pod. Its value is the contentID (see
	// status.contentID) from which the pod starts.
	ContentAnnotation = "platform.coapply.dev/content-id"
	// ContainerName is the name of the container in a Devbox's pod.
	ContainerName = "devbox"
)

// labels returns the labels of all objects of a Devbox. The Deployment's selector is immutable. It uses only the label
// platform.coapply.dev/devbox, so that a new version of the platform may change the other labels.
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

// ownPods returns the given pods that belong to the Devbox: pods that are controlled by a ReplicaSet of its Deployment,
// and pods without a controller that have our finalizer. The Devbox's label is no proof: any client may set it.
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

// setName returns the ReplicaSet name NAME-HASH. NAME is the name of the Devbox. HASH is the pod template hash in the
// labels of the given ReplicaSet or pod.
func setName(box, hashed metav1.Object) string {
	return box.GetName() + "-" + hashed.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
}
