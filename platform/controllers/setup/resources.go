package setup

import (
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/platform/api/v1alpha1"
)

// ResourceRequirements returns the resource requirements of a container, or nil if there are
// none: empty ones would claim the field.
func ResourceRequirements(wanted v1alpha1.Resources) *corev1ac.ResourceRequirementsApplyConfiguration {
	if len(wanted.Requests) == 0 && len(wanted.Limits) == 0 {
		return nil
	}
	resources := corev1ac.ResourceRequirements()
	if len(wanted.Requests) > 0 {
		resources.WithRequests(wanted.Requests)
	}
	if len(wanted.Limits) > 0 {
		resources.WithLimits(wanted.Limits)
	}
	return resources
}
