package license

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

func TestPhaseAt(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	for _, test := range []struct {
		reason              string
		notBefore, notAfter *metav1.Time
		phase               v1alpha1.LicensePhase
		after               time.Duration
	}{
		{"no bounds", nil, nil, v1alpha1.LicenseActive, 0},
		{"begins later", at(time.Hour), nil, v1alpha1.LicensePending, time.Hour},
		{"begins and ends later", at(time.Hour), at(2 * time.Hour), v1alpha1.LicensePending, time.Hour},
		{"begins in a nanosecond", at(1), nil, v1alpha1.LicensePending, 1},
		{"begins now", at(0), nil, v1alpha1.LicenseActive, 0},
		{"begins now, ends later", at(0), at(time.Minute), v1alpha1.LicenseActive, time.Minute},
		{"has begun, ends later", at(-time.Hour), at(time.Minute), v1alpha1.LicenseActive, time.Minute},
		{"ends in a nanosecond", nil, at(1), v1alpha1.LicenseActive, 1},
		{"ends now", nil, at(0), v1alpha1.LicenseExpired, 0},
		{"has ended", at(-time.Hour), at(-1), v1alpha1.LicenseExpired, 0},
		{"begins and ends now", at(0), at(0), v1alpha1.LicenseExpired, 0},
		{"begins and ends at once, later", at(time.Hour), at(time.Hour), v1alpha1.LicensePending, time.Hour},
		{"ended before it begins", at(time.Hour), at(-time.Hour), v1alpha1.LicenseExpired, 0},
		{"far away", nil, &metav1.Time{Time: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}, v1alpha1.LicenseActive, 1<<63 - 1},
	} {
		phase, after := phaseAt(now, v1alpha1.LicenseSpec{NotBefore: test.notBefore, NotAfter: test.notAfter})
		if phase != test.phase || after != test.after {
			t.Errorf("%s: %s, again in %v; want %s, %v", test.reason, phase, after, test.phase, test.after)
		}
	}
}

func TestLimitsIn(t *testing.T) {
	list := func(pods string) corev1.ResourceList {
		limits := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		if pods != "" {
			limits[corev1.ResourcePods] = resource.MustParse(pods)
		}
		return limits
	}
	for _, test := range []struct {
		reason string
		phase  v1alpha1.LicensePhase
		spec   corev1.ResourceList
		want   corev1.ResourceList
	}{
		{"active", v1alpha1.LicenseActive, list("5"), list("5")},
		{"pending", v1alpha1.LicensePending, list("5"), list("0")},
		{"expired, and the spec says nothing of pods", v1alpha1.LicenseExpired, list(""), list("0")},
		{"expired, of nothing", v1alpha1.LicenseExpired, nil, corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	} {
		spec := v1alpha1.LicenseSpec{Limits: test.spec}
		before := spec.DeepCopy()
		if got := limitsIn(test.phase, spec); !equality.Semantic.DeepEqual(test.want, got) {
			t.Errorf("%s: %v, want %v", test.reason, got, test.want)
		}
		if !equality.Semantic.DeepEqual(*before, spec) {
			t.Errorf("%s: the spec was changed", test.reason)
		}
	}
}

func TestText(t *testing.T) {
	limits := corev1.ResourceList{
		corev1.ResourcePods:   resource.MustParse("3"),
		corev1.ResourceMemory: resource.MustParse("8192Mi"),
		corev1.ResourceCPU:    resource.MustParse("4000m"),
	}
	if got, want := text(limits), "cpu=4,memory=8Gi,pods=3"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
