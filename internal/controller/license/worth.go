package license

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"coapply.dev/api/v1alpha1"
)

// phaseAt gives what a License is worth at a moment, and in what time that changes;
// 0 is never. notBefore is in the time in which it holds, notAfter no more.
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

// limitsIn gives the limits that hold in a phase. Outside of Active no pod may be
// made; the spec's other limits stay, lest the end of a license lift them.
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
