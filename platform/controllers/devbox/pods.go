package devbox

import (
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

// podsOf returns the pods with the Devbox's label, including those of others.
func podsOf(ctx context.Context, reader client.Reader, box types.NamespacedName) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := reader.List(ctx, &list, client.InNamespace(box.Namespace), client.MatchingLabels{Label: box.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	pods := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}

// endedPods returns the pods with our finalizer that have ended, including pods of others who
// copied our template. If the Devbox is shut down, the last status of its own pods is not
// waited for, and no ended pod is kept.
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

// isShutdown reports whether a pod is to be deleted, and not only to lose our finalizer.
func isShutdown(box *v1alpha1.Devbox, pod *corev1.Pod) bool {
	return box.Spec.State == v1alpha1.DevboxShutdown && isOwnPod(box, pod)
}

// hasEnded reports whether all containers of a pod have ended. By a grace period of 0 the
// kubelet, or the pod garbage collector for a lost node, says that the pod may go.
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

// lastEnded returns the newest pod that has a container status, or nil if none has.
func lastEnded(ended []*corev1.Pod) *corev1.Pod {
	var last *corev1.Pod
	for _, pod := range ended {
		if len(pod.Status.ContainerStatuses) == 0 {
			continue
		}
		if last == nil || last.CreationTimestamp.Before(&pod.CreationTimestamp) {
			last = pod
		}
	}
	return last
}

// setLast records how the container of a pod ended, and on which content it ran.
func setLast(status *v1alpha1.DevboxStatus, pod *corev1.Pod) {
	status.LastContainerStatus = pod.Status.ContainerStatuses[0].DeepCopy()
	status.LastContentID = pod.Annotations[ContentAnnotation]
	if !contentID.MatchString(status.LastContentID) {
		status.LastContentID = "" // somebody else's annotation
	}
}

// phaseOf returns the phase of a Devbox, from its pods. A pod that has finished counts only if
// it is being deleted.
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

// releasePod removes our finalizer from a pod. An absent pod is success; a pod with another uid
// is left alone.
func (w workload) releasePod(ctx context.Context, pod *corev1.Pod) error {
	_, err := update.RemoveFinalizer(ctx, w.updater, pod, PodFinalizer)
	if errors.Is(err, apply.ErrUIDMismatch) {
		return nil
	}
	return err
}

// removePod releases a pod and deletes it at once.
func (w workload) removePod(ctx context.Context, pod *corev1.Pod) error {
	if err := w.releasePod(ctx, pod); err != nil {
		return err
	}
	return setup.Delete(ctx, w.client, w.live, pod, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
}
