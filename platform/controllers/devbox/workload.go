package devbox

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/apply/update"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
)

// SetupWorkload adds the workload reconciler to a manager. The workload reconciler owns a Devbox's Deployment
// except the replicas, records the status of the last container, and handles the Devbox's finalizer.
func SetupWorkload(mgr ctrl.Manager, options setup.Options) error {
	updater, err := options.Runtime.Updater(fieldmanagers.DevboxWorkload)
	if err != nil {
		return fmt.Errorf("reconciler devbox-workload: %w", err)
	}
	w := workload{client: mgr.GetClient(), live: mgr.GetAPIReader(), updater: updater}
	return coapply.For(options.Runtime, fieldmanagers.DevboxWorkload, emitWorkload).
		Named("devbox-workload").
		Owns(&appsv1.Deployment{}, coapply.ReadsStatus).
		Watches(&corev1.Pod{}, setup.Enqueue(devboxOfPod)).
		Belongs(isDevboxes).
		DependsOn(workloadDependsOn...).
		Finalizer(Finalizer, w.cleanup).
		Status(w.status).
		Gone(w.gone).
		Complete()
}

// workloadDependsOn are the status fields of a Devbox that other reconcilers write, and that
// the workload reconciler reads. A change of one of these fields starts a reconcile.
var workloadDependsOn = []func(*v1alpha1.Devbox) any{
	func(box *v1alpha1.Devbox) any { return box.Status.ContentID },
	func(box *v1alpha1.Devbox) any { return said(box, v1alpha1.ConditionPowerApplied) },
	func(box *v1alpha1.Devbox) any { return said(box, v1alpha1.ConditionNetworkApplied) },
}

// devboxOfPod returns the key of a pod's Devbox, from the pod's label. (The owner reference of a pod names only a ReplicaSet.)
func devboxOfPod(pod client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[Label]}
}

type workload struct {
	client  client.Client
	live    client.Reader
	updater *update.Updater
}

// status returns a Report with the status of the Devbox, computed from its pods and its Deployment. Report.Then runs
// after the status write has recorded the container statuses of ended pods. It removes our finalizer from these pods.
func (w workload) status(ctx context.Context, box *v1alpha1.Devbox, applied reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	none := reconciler.Report[*v1alpha1.Devbox]{}
	pods, err := podsOf(ctx, w.client, client.ObjectKeyFromObject(box))
	if err != nil {
		return none, err
	}
	ended, own := endedPods(box, pods), ownPods(box, pods)
	last, phase := newest(own), phaseOf(box, own)
	condition := workloadCondition(box, applied)
	deployment, err := w.deployment(ctx, box)
	if err != nil {
		return none, err
	}
	return reconciler.Report[*v1alpha1.Devbox]{
		Change: func(box *v1alpha1.Devbox) error {
			box.Status.Phase = phase
			if last != nil {
				setLast(&box.Status, last)
			}
			if phase == v1alpha1.PhaseShutdown {
				box.Status.LastContentID = "" // a Shutdown discards the content
			}
			meta.SetStatusCondition(&box.Status.Conditions, condition)
			box.Status.ObservedGeneration = condition.ObservedGeneration
			meta.SetStatusCondition(&box.Status.Conditions, readyOf(condition.ObservedGeneration, box, deployment))
			return nil
		},
		Then: func(ctx context.Context) error { return w.letGo(ctx, box, ended) },
	}, nil
}

// deployment returns the Deployment whose controller is the Devbox. It returns nil if there is none.
func (w workload) deployment(ctx context.Context, box *v1alpha1.Devbox) (*appsv1.Deployment, error) {
	var deployment appsv1.Deployment
	err := w.client.Get(ctx, client.ObjectKeyFromObject(box), &deployment)
	if err != nil || !metav1.IsControlledBy(&deployment, box) {
		return nil, client.IgnoreNotFound(err)
	}
	return &deployment, nil
}

// workloadCondition returns the condition WorkloadApplied. It is Unknown until status.contentID has
// been computed for the image in spec.image.
func workloadCondition(box *v1alpha1.Devbox, applied reconciler.Applied) metav1.Condition {
	condition := deploymentCondition(v1alpha1.ConditionWorkloadApplied, box, applied)
	if !contentFits(box) {
		condition.Status = metav1.ConditionUnknown
		condition.Reason = "WaitingForContent"
		condition.Message = "waiting for the content reconciler to set status.contentID for the image in spec.image"
	}
	return condition
}

// deploymentCondition returns the condition of a reconciler that applies to the Deployment. The condition is True if
// the apply succeeded. It is also True if the Deployment does not exist and spec.state is not Running.
func deploymentCondition(conditionType string, box *v1alpha1.Devbox, applied reconciler.Applied) metav1.Condition {
	condition := reconciler.Condition(conditionType, box.Generation, applied)
	if condition.Reason == string(apply.Absent) && !isToRun(box) {
		condition.Status = metav1.ConditionTrue
		condition.Reason = "NothingToRun"
		condition.Message = "the Deployment does not exist, as no pod should run; the Deployment is created once spec.state is Running"
	}
	return condition
}

func isToRun(box *v1alpha1.Devbox) bool { return box.Spec.State == v1alpha1.DevboxRunning }

func (w workload) letGo(ctx context.Context, box *v1alpha1.Devbox, ended []*corev1.Pod) error {
	var errs []error
	for _, pod := range ended {
		if isShutdown(box, pod) {
			errs = append(errs, w.removePod(ctx, pod))
		} else {
			errs = append(errs, w.releasePod(ctx, pod))
		}
	}
	return errors.Join(errs...)
}

// gone is called for a Devbox that no longer exists. It removes our finalizer from pods of the Devbox that
// are being deleted. Such pods remain if a client removed the Devbox's finalizer before its pods had ended.
func (w workload) gone(ctx context.Context, box types.NamespacedName) error {
	pods, err := podsOf(ctx, w.client, box)
	if err != nil {
		return err
	}
	var errs []error
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			errs = append(errs, w.releasePod(ctx, pod))
		}
	}
	return errors.Join(errs...)
}

// emitWorkload returns the intent of the Deployment, without its replicas. It returns no intent until status.contentID
// has been computed for the image in spec.image. The pod template contains the contentID, so a later change of the
// contentID would replace the new pod. If spec.state is not Running, the intent does not create the Deployment,
// because the API server would set the replicas of a new Deployment to 1.
func emitWorkload(box *v1alpha1.Devbox) ([]apply.Intent, error) {
	if !contentFits(box) {
		return nil, nil
	}
	deployment := appsv1ac.Deployment(box.Name, box.Namespace).
		WithLabels(labels(box)).
		WithOwnerReferences(setup.OwnedBy(kind, box)).
		WithSpec(appsv1ac.DeploymentSpec().
			WithSelector(metav1ac.LabelSelector().WithMatchLabels(selector(box))).
			// Recreate: two pods at the same time would both write to the content of the Devbox.
			WithStrategy(appsv1ac.DeploymentStrategy().WithType(appsv1.RecreateDeploymentStrategyType)).
			WithTemplate(podTemplate(box)))
	return []apply.Intent{{Config: deployment, MustExist: !isToRun(box)}}, nil
}

func podTemplate(box *v1alpha1.Devbox) *corev1ac.PodTemplateSpecApplyConfiguration {
	return corev1ac.PodTemplateSpec().
		WithLabels(labels(box)).
		WithAnnotations(map[string]string{ContentAnnotation: box.Status.ContentID}).
		WithFinalizers(PodFinalizer).
		WithSpec(corev1ac.PodSpec().
			WithAutomountServiceAccountToken(false).
			WithContainers(container(box)))
}

func container(box *v1alpha1.Devbox) *corev1ac.ContainerApplyConfiguration {
	return corev1ac.Container().
		WithName(ContainerName).
		WithImage(box.Spec.Image).
		WithPorts(corev1ac.ContainerPort().
			WithContainerPort(box.Spec.Network.Port).
			WithProtocol(corev1.ProtocolTCP)).
		WithResources(setup.ResourceRequirements(box.Spec.Resources))
}

// cleanup runs before a Devbox's finalizer is removed. It deletes the Deployment in the foreground, so that its
// ReplicaSets create no more pods, and removes our finalizer from the pods. done is true once a live read finds no pod
// of the Devbox. If the Devbox's finalizer were removed earlier, a remaining pod could keep our finalizer forever.
func (w workload) cleanup(ctx context.Context, box *v1alpha1.Devbox) (done bool, err error) {
	var deployment appsv1.Deployment // without a name if the Deployment does not exist
	err = w.live.Get(ctx, client.ObjectKeyFromObject(box), &deployment)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading the Deployment of Devbox %s: %w", box.Name, err)
	}
	kept := map[types.UID]bool{}
	ours := metav1.IsControlledBy(&deployment, box)
	switch {
	case ours && deployment.DeletionTimestamp == nil:
		err = setup.Delete(ctx, w.client, w.live, &deployment, client.PropagationPolicy(metav1.DeletePropagationForeground))
	case !ours: // the Deployment is gone, or has another owner now
		kept, err = w.deleteReplicaSets(ctx, box, deployment.UID)
	}
	if err != nil {
		return false, err
	}
	pods, err := podsOf(ctx, w.live, client.ObjectKeyFromObject(box))
	if err != nil {
		return false, err
	}
	return w.removePods(ctx, ownPods(box, pods), ours, kept)
}

// removePods removes our finalizer from the pods and deletes them, except the pods of ReplicaSets whose uid is in kept.
// If replaced is true, the Deployment still exists and would replace deleted pods. Then only pods that are already
// being deleted are handled, and the result is false. Otherwise the result is true if no pod had to be deleted.
func (w workload) removePods(ctx context.Context, pods []*corev1.Pod, replaced bool, kept map[types.UID]bool) (none bool, err error) {
	none = !replaced
	var errs []error
	for _, pod := range pods {
		if owner := metav1.GetControllerOf(pod); owner != nil && kept[owner.UID] {
			continue
		}
		none = false
		if !replaced || pod.DeletionTimestamp != nil {
			errs = append(errs, w.removePod(ctx, pod))
		}
	}
	return none, errors.Join(errs...)
}

// deleteReplicaSets deletes the Devbox's ReplicaSets that still exist after the Deployment was deleted with the policy
// Orphan, because such a ReplicaSet would replace every deleted pod. If the Devbox's name is taken by a Deployment of
// another owner, this Deployment has the uid taken. Its ReplicaSets are not deleted, and kept contains their uids.
func (w workload) deleteReplicaSets(ctx context.Context, box *v1alpha1.Devbox, taken types.UID) (kept map[types.UID]bool, err error) {
	var list appsv1.ReplicaSetList
	err = w.live.List(ctx, &list, client.InNamespace(box.Namespace), client.MatchingLabels{Label: box.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets of Devbox %s: %w", box.Name, err)
	}
	kept = map[types.UID]bool{}
	for i := range list.Items {
		set := &list.Items[i]
		if owner := metav1.GetControllerOf(set); owner != nil && owner.UID == taken {
			kept[set.UID] = true
		}
		if kept[set.UID] || !isOwnSet(box, set) {
			continue
		}
		if err := setup.Delete(ctx, w.client, w.live, set, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
