package devbox

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func TestClaims(t *testing.T) {
	full := with(func(b *v1alpha1.Devbox) {
		b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		b.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	for manager, emit := range map[string]string{
		fieldmanagers.DevboxWorkload: "workload",
		fieldmanagers.DevboxPower:    "power",
		fieldmanagers.DevboxNetwork:  "network",
		fieldmanagers.DevboxContent:  "content",
	} {
		applytest.Owns(t, fieldmanagers.All().Of(manager), emitters[emit], full)
	}
}
