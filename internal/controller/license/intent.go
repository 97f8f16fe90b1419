package license

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/setup"
	"coapply.dev/internal/controller/user"
)

// emit returns the intents that follow from the status; none while the User has no Namespace,
// or while somebody has written another Namespace into the status.
func emit(license *v1alpha1.License) ([]apply.Intent, error) {
	if license.Status.Namespace != user.NamespaceOf(license.Name) {
		return nil, nil
	}
	namespace := corev1ac.Namespace(license.Status.Namespace).
		WithLabels(map[string]string{Label: string(license.Status.Phase)}).
		WithAnnotations(map[string]string{LimitsAnnotation: text(license.Status.Limits)})
	quota := corev1ac.ResourceQuota(Quota, license.Status.Namespace).
		WithLabels(map[string]string{user.OwnerLabel: license.Name, "app.kubernetes.io/managed-by": "coapply"}).
		WithOwnerReferences(setup.OwnedBy(kind, license)).
		WithSpec(corev1ac.ResourceQuotaSpec().
			WithHard(license.Status.Limits).
			// An empty selector counts everything. With another one the limits would hold for
			// some pods only.
			WithScopeSelector(corev1ac.ScopeSelector()))
	return []apply.Intent{{Config: namespace, MustExist: true}, {Config: quota}}, nil
}
