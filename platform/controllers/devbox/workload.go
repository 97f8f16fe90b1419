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

// SetupWorkload adds the reconciler that owns a Devbox's Deployment except its replicas,
// follows its pods to their end, and handles the Devbox's finalizer.
func SetupWorkload(mgr ctrl.Manager, options setup.Options) error {
	updater, err := options.Runtime.Updater(fieldmanagers.DevboxWorkload)
	if err != nil {
		return fmt.Errorf("devbox-workload: %w", err)
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

// workloadDependsOn is what of its status a Devbox's Deployment is made from, and what readyOf reads that other reconcilers
// write.
var workloadDependsOn = []func(*v1alpha1.Devbox) any{
	func(box *v1alpha1.Devbox) any { return box.Status.ContentID },
	func(box *v1alpha1.Devbox) any { return said(box, v1alpha1.ConditionPowerApplied) },
	func(box *v1alpha1.Devbox) any { return said(box, v1alpha1.ConditionNetworkApplied) },
}

// devboxOfPod goes by the label: a pod's controller is a ReplicaSet.
func devboxOfPod(pod client.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[Label]}
}

type workload struct {
	client  client.Client
	live    client.Reader
	updater *update.Updater
}

// status reports what the pods do, and records the last container status of ended pods before
// it removes their finalizer.
func (w workload) status(ctx context.Context, box *v1alpha1.Devbox, applied reconciler.Applied) (reconciler.Report[*v1alpha1.Devbox], error) {
	none := reconciler.Report[*v1alpha1.Devbox]{}
	pods, err := podsOf(ctx, w.client, client.ObjectKeyFromObject(box))
	if err != nil {
		return none, err
	}
	ended := endedPods(box, pods)
	last := lastEnded(ownPods(box, ended))
	phase := phaseOf(box, ownPods(box, pods))
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
				box.Status.LastContentID = "" // dropped
			}
			meta.SetStatusCondition(&box.Status.Conditions, condition)
			box.Status.ObservedGeneration = condition.ObservedGeneration
			meta.SetStatusCondition(&box.Status.Conditions, readyOf(condition.ObservedGeneration, box, deployment))
			return nil
		},
		Then: func(ctx context.Context) error { return w.letGo(ctx, box, ended) },
	}, nil
}

// deployment returns the Devbox's own Deployment; nil if there is none.
func (w workload) deployment(ctx context.Context, box *v1alpha1.Devbox) (*appsv1.Deployment, error) {
	var deployment appsv1.Deployment
	err := w.client.Get(ctx, client.ObjectKeyFromObject(box), &deployment)
	if err != nil || !metav1.IsControlledBy(&deployment, box) {
		return nil, client.IgnoreNotFound(err)
	}
	return &deployment, nil
}

// workloadCondition returns the condition of the Deployment: Unknown while there is no content
// of the image.
func workloadCondition(box *v1alpha1.Devbox, applied reconciler.Applied) metav1.Condition {
	condition := deploymentCondition(v1alpha1.ConditionWorkloadApplied, box, applied)
	if !contentFits(box) {
		condition.Status = metav1.ConditionUnknown
		condition.Reason = "WaitingForContent"
		condition.Message = "waiting for status.contentID to name a content of the image"
	}
	return condition
}

// deploymentCondition is True without a Deployment if nothing is to run.
func deploymentCondition(conditionType string, box *v1alpha1.Devbox, applied reconciler.Applied) metav1.Condition {
	condition := reconciler.Condition(conditionType, box.Generation, applied)
	if condition.Reason == string(apply.Absent) && !isToRun(box) {
		condition.Status = metav1.ConditionTrue
		condition.Reason = "NothingToRun"
		condition.Message = "there is no Deployment, as nothing is to run; one is made when the state is Running"
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

// gone removes our finalizer from pods whose Devbox was deleted without its own.
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
