// Package license reconciles a License, which says what the User of the same name may use,
// and for how long.
//
// The status is computed first: the phase from the clock, the limits from the phase, the
// Namespace from the User's status. From the status alone follow the intents: the label and
// annotation of the Namespace, whose other fields are the User's (package user), and a
// ResourceQuota in it.
//
// The License forces its limits back if somebody changes them. Any other conflict is reported
// and left to people.
package license

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
)

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// phaseAt returns the phase of a License at a time, and after how long it changes; 0 means
// never. The License is valid at notBefore, and no longer at notAfter.
func phaseAt(now time.Time, spec v1alpha1.LicenseSpec) (v1alpha1.LicensePhase, time.Duration) {
	switch {
	case spec.NotAfter != nil && !now.Before(spec.NotAfter.Time):
		return v1alpha1.LicenseExpired, 0
	case spec.NotBefore != nil && now.Before(spec.NotBefore.Time):
		return v1alpha1.LicensePending, spec.NotBefore.Sub(now)
	case spec.NotAfter != nil:
		return v1alpha1.LicenseActive, spec.NotAfter.Sub(now)
	}
	return v1alpha1.LicenseActive, 0
}

// limitsIn returns the limits that apply in a phase. Outside of Active no pod may be
// created; the spec's other limits stay, so that the end of a license does not lift them.
func limitsIn(phase v1alpha1.LicensePhase, spec v1alpha1.LicenseSpec) corev1.ResourceList {
	limits := spec.Limits.DeepCopy()
	if phase == v1alpha1.LicenseActive {
		return limits
	}
	if limits == nil {
		limits = corev1.ResourceList{}
	}
	limits[corev1.ResourcePods] = resource.MustParse("0")
	return limits
}

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
