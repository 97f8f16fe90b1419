package license

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
)

type status struct {
	client client.Reader
	now    func() time.Time
	events events.EventRecorder
}

// report returns the change of the License's status: the current phase, the limits of this phase, and the
// name of the User's Namespace. If they differ from the status, the status write starts another reconcile,
// which applies them. report also requests a reconcile for the time at which the phase changes next.
func (s status) report(ctx context.Context, license *v1alpha1.License, applied reconciler.Applied) (reconciler.Report[*v1alpha1.License], error) {
	namespace, err := s.namespace(ctx, license)
	if err != nil {
		return reconciler.Report[*v1alpha1.License]{}, err
	}
	phase, after := phaseAt(s.now(), license.Spec)
	worth := v1alpha1.LicenseStatus{
		Phase:     phase,
		Limits:    limitsIn(phase, license.Spec),
		Namespace: namespace,
	}
	condition := conditionOf(license, worth, applied)
	changes := false // whether the status write changed the phase; each attempt of the write sets this again
	return reconciler.Report[*v1alpha1.License]{
		Change: func(license *v1alpha1.License) error {
			changes = license.Status.Phase != worth.Phase
			license.Status.Phase = worth.Phase
			license.Status.Limits = worth.Limits.DeepCopy()
			license.Status.Namespace = worth.Namespace
			license.Status.ObservedGeneration = condition.ObservedGeneration
			meta.SetStatusCondition(&license.Status.Conditions, condition)
			setup.SetContended(&license.Status.Conditions, condition.ObservedGeneration, applied)
			meta.SetStatusCondition(&license.Status.Conditions, setup.Ready(condition, string(worth.Phase), "the ResourceQuota has the limits of the current phase"))
			return nil
		},
		Then: func(context.Context) error {
			if changes {
				s.tell(license, worth)
			}
			return nil
		},
		After: after,
	}, nil
}

// tell records an event with the new phase and its limits. If the manager process ends between the
// status write and this call, there is no event. The status has the same information.
func (s status) tell(license *v1alpha1.License, worth v1alpha1.LicenseStatus) {
	eventType := corev1.EventTypeNormal
	if worth.Phase == v1alpha1.LicenseExpired {
		eventType = corev1.EventTypeWarning
	}
	limits := text(worth.Limits)
	if limits == "" {
		limits = "none"
	}
	reconciler.Event(s.events, license, eventType, string(worth.Phase), "limits are now "+limits)
}

// namespace returns the name of the User's Namespace, from the User's status. It returns "" if the status has no
// Namespace, or a Namespace other than user-NAME: only another client can have written that name.
func (s status) namespace(ctx context.Context, license *v1alpha1.License) (string, error) {
	var holder v1alpha1.User
	err := s.client.Get(ctx, client.ObjectKey{Name: license.Name}, &holder)
	if err != nil || holder.Status.Namespace != user.NamespaceOf(license.Name) {
		return "", client.IgnoreNotFound(err)
	}
	return holder.Status.Namespace, nil
}

// conditionOf returns the License's condition Applied. It is Unknown if the User has no Namespace, or if the
// intents had values from an outdated status. worth has the phase, limits and Namespace that the status gets now.
func conditionOf(license *v1alpha1.License, worth v1alpha1.LicenseStatus, applied reconciler.Applied) metav1.Condition {
	condition := reconciler.Condition(v1alpha1.ConditionApplied, license.Generation, applied)
	emitted := v1alpha1.LicenseStatus{
		Phase: license.Status.Phase, Limits: license.Status.Limits, Namespace: license.Status.Namespace,
	}
	switch {
	case worth.Namespace == "":
		condition.Status = metav1.ConditionUnknown
		condition.Reason = "NoNamespace"
		condition.Message = "waiting for the User of the same name to exist and to have its Namespace"
	case !equality.Semantic.DeepEqual(emitted, worth):
		condition.Status = metav1.ConditionUnknown
		condition.Reason = "Changing"
		condition.Message = "the phase, the limits or the Namespace have changed; the ResourceQuota is applied next"
	}
	return condition
}
