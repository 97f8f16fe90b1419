// Package license contains the reconciler of Licenses. A License defines which resources the User of the same name may
// use, and for how long.
//
// Each reconcile applies fields that depend only on the stored status of the License: a label and an annotation of the
// User's Namespace, and a ResourceQuota in it. Then it writes the current phase, limits and Namespace into the status; a
// change starts another reconcile. The User reconciler owns the other fields of the Namespace (see package user).
//
// If another client changes the limits or the phase in these objects, the next reconcile restores the values by force.
// Other ownership conflicts are only reported.
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

// RBAC rules of the reconciler, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// phaseAt returns the phase of a License at the given time, and the time until its next phase. The second result is 0
// if the phase never changes again. A License is valid from notBefore (inclusive) to notAfter (exclusive).
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

// limitsIn returns the resource limits of a License in the given phase. In every phase other than Active, the limit of
// pods is 0. The other limits of the spec apply in every phase.
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
	// Label is a label on a User's Namespace; its value is the phase of the License.
	Label = "platform.coapply.dev/license"
	// LimitsAnnotation is an annotation of a User's Namespace; its value is the limits that apply
	// now, sorted by name, such as "cpu=4,memory=8Gi".
	LimitsAnnotation = "platform.coapply.dev/limits"
	// Quota is the name of the License's ResourceQuota in a User's Namespace.
	Quota = "license"
	// Finalizer is the finalizer of a License. It is removed once the License's ResourceQuota and
	// the License's fields in the Namespace no longer exist.
	Finalizer = "platform.coapply.dev/license"

	kind = "License"
)

// emit returns two intents with the values of the License's status: one for the User's Namespace, and one for the
// ResourceQuota in this Namespace. It returns no intents until this status contains the name of the Namespace.
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
			// The selector is set, though empty, so that the License owns it. With any other
			// selector the quota would limit only some of the pods.
			WithScopeSelector(corev1ac.ScopeSelector()))
	return []apply.Intent{{Config: namespace, MustExist: true}, {Config: quota}}, nil
}

// text formats limits, such as "cpu=4,memory=8Gi". The limits are sorted by name, and the quantities are canonical.
func text(limits corev1.ResourceList) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		quantity := limits[name]
		parts = append(parts, string(name)+"="+quantity.String())
	}
	return strings.Join(parts, ",")
}
