package devbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

// podsOf returns all pods with the Devbox's label. Some of them may not belong to the Devbox, because any client may set this label.
func podsOf(ctx context.Context, reader client.Reader, box types.NamespacedName) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := reader.List(ctx, &list, client.InNamespace(box.Namespace), client.MatchingLabels{Label: box.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of a Devbox: %w", err)
	}
	pods := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}

// endedPods returns the pods that letGo handles. These are all ended pods with our finalizer, even pods of another
// owner: a pod that was created from a copy of our pod template has this finalizer, too. During a Shutdown, the
// Devbox's own pods that are finished or being deleted are also returned, even if their containers still run.
func endedPods(box *v1alpha1.Devbox, pods []*corev1.Pod) []*corev1.Pod {
	var ended []*corev1.Pod
	for _, pod := range pods {
		atOnce := isShutdown(box, pod) && (pod.DeletionTimestamp != nil || setup.PodFinished(pod))
		if atOnce || slices.Contains(pod.Finalizers, PodFinalizer) && hasEnded(pod) {
			ended = append(ended, pod)
		}
	}
	return ended
}

// isShutdown reports whether a pod must be deleted without a grace period, because it belongs to a Devbox whose spec.state is Shutdown.
func isShutdown(box *v1alpha1.Devbox, pod *corev1.Pod) bool {
	return box.Spec.State == v1alpha1.DevboxShutdown && isOwnPod(box, pod)
}

// hasEnded reports whether a pod has finished, or is being deleted and counts as ended. Such a pod was never scheduled,
// has only terminated containers, or has a grace period of 0. The kubelet sets this grace period after it has stopped
// the containers. The pod garbage collector sets it for a pod of a lost node, and any client may set it.
func hasEnded(pod *corev1.Pod) bool {
	if setup.PodFinished(pod) {
		return true
	}
	if pod.DeletionTimestamp == nil {
		return false
	}
	if pod.Spec.NodeName == "" || pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0 {
		return true
	}
	statuses := pod.Status.ContainerStatuses
	return len(statuses) > 0 && !slices.ContainsFunc(statuses, func(s corev1.ContainerStatus) bool {
		return s.State.Terminated == nil
	})
}

// newest returns the most recently created pod that has a container status, or nil. Of pods that were created in the same
// second, it returns the one with the last name: always the same pod, so that the status does not change to and fro.
func newest(pods []*corev1.Pod) *corev1.Pod {
	seen := slices.DeleteFunc(slices.Clone(pods), func(pod *corev1.Pod) bool { return len(pod.Status.ContainerStatuses) == 0 })
	if len(seen) == 0 {
		return nil
	}
	return slices.MaxFunc(seen, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// setLast writes the status of the pod's container into lastContainerStatus, and the contentID from
// which the container started into lastContentID.
func setLast(status *v1alpha1.DevboxStatus, pod *corev1.Pod) {
	status.LastContainerStatus = pod.Status.ContainerStatuses[0].DeepCopy()
	status.LastContentID = pod.Annotations[ContentAnnotation]
	if !contentID.MatchString(status.LastContentID) {
		status.LastContentID = "" // not a contentID: another client has changed the annotation
	}
}

// phaseOf returns the phase of a Devbox from its own pods. If spec.state is not Running, the phase is Stopping while a
// pod has not finished or is being deleted.
func phaseOf(box *v1alpha1.Devbox, pods []*corev1.Pod) v1alpha1.DevboxPhase {
	running := isToRun(box)
	switch {
	case running && slices.ContainsFunc(pods, setup.PodReady):
		return v1alpha1.PhaseRunning
	case running:
		return v1alpha1.PhasePending
	case slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return !setup.PodFinished(pod) || pod.DeletionTimestamp != nil }):
		return v1alpha1.PhaseStopping
	case box.Spec.State == v1alpha1.DevboxShutdown:
		return v1alpha1.PhaseShutdown
	}
	return v1alpha1.PhaseStopped
}

// releasePod removes our finalizer from a pod. It succeeds if the pod no longer exists, or if another pod now has its name.
func (w workload) releasePod(ctx context.Context, pod *corev1.Pod) error {
	_, err := update.RemoveFinalizer(ctx, w.updater, pod, PodFinalizer)
	if errors.Is(err, apply.ErrUIDMismatch) {
		return nil
	}
	return err
}

// removePod removes our finalizer from a pod and deletes the pod without a grace period.
func (w workload) removePod(ctx context.Context, pod *corev1.Pod) error {
	if err := w.releasePod(ctx, pod); err != nil {
		return err
	}
	return setup.Delete(ctx, w.client, w.live, pod, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
}
