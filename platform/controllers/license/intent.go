package license

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
)

const (
	// Label on a User's Namespace: the phase of the License.
	Label = "platform.coapply.dev/license"
	// LimitsAnnotation on a User's Namespace: the limits that hold now, sorted by name, as
	// in "cpu=4,memory=8Gi".
	LimitsAnnotation = "platform.coapply.dev/limits"
	// Quota is the name of the ResourceQuota.
	Quota = "license"
	// Finalizer of a License: its fields of the Namespace and its quota go first.
	Finalizer = "platform.coapply.dev/license"

	kind = "License"
)

// emit wants what the status says, and nothing while the User has no Namespace, or
// while somebody has written another one's into the status.
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

// text returns limits as text that does not depend on their order and spelling.
func text(limits corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		quantity := limits[name]
		parts = append(parts, string(name)+"="+quantity.String())
	}
	return strings.Join(parts, ",")
}
