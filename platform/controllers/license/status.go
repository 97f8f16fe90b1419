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

// report returns a Report that writes the current phase, its limits and the name of the User's Namespace into the
// status. If one of these values changes, the status write starts another reconcile, which applies the new values. The
// Report also requests a reconcile at the time of the next phase change.
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

// namespace returns the name of the User's Namespace, from the User's status. It returns "" if the status contains no
// name. It also returns "" for a name other than user-NAME, which the User reconciler never writes.
func (s status) namespace(ctx context.Context, license *v1alpha1.License) (string, error) {
	var holder v1alpha1.User
	err := s.client.Get(ctx, client.ObjectKey{Name: license.Name}, &holder)
	if err != nil || holder.Status.Namespace != user.NamespaceOf(license.Name) {
		return "", client.IgnoreNotFound(err)
	}
	return holder.Status.Namespace, nil
}

// conditionOf returns the License's condition Applied. It is Unknown if the User has no Namespace, or if the intents
// were computed from an older status. The argument worth contains the new values of the status.
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
