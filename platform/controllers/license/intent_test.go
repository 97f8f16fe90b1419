package license

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

// in is a License whose status is worked out.
func in(phase v1alpha1.LicensePhase) *v1alpha1.License {
	license := &v1alpha1.License{
		ObjectMeta: metav1.ObjectMeta{Name: "ada", UID: "0000-2", Generation: 1},
		Spec: v1alpha1.LicenseSpec{Limits: corev1.ResourceList{
			corev1.ResourceMemory: resource.MustParse("8Gi"),
			corev1.ResourceCPU:    resource.MustParse("4000m"),
			corev1.ResourcePods:   resource.MustParse("5"),
		}},
	}
	license.Status.Phase = phase
	license.Status.Limits = limitsIn(phase, license.Spec)
	license.Status.Namespace = "user-ada"
	return license
}

func with(change func(*v1alpha1.License)) *v1alpha1.License {
	license := in(v1alpha1.LicenseActive)
	change(license)
	return license
}

// TestGoldenIntents shows what the reconciler wants of a License. Write the files
// anew with: APPLYTEST_UPDATE=1 go test ./platform/controllers/license -run Golden
func TestGoldenIntents(t *testing.T) {
	for _, test := range []struct {
		name    string
		license *v1alpha1.License
	}{
		{"no_namespace", with(func(l *v1alpha1.License) { l.Status.Namespace = "" })},
		{"another_namespace", with(func(l *v1alpha1.License) { l.Status.Namespace = "user-bob" })},
		{"pending", in(v1alpha1.LicensePending)},
		{"active", in(v1alpha1.LicenseActive)},
		{"expired", in(v1alpha1.LicenseExpired)},
		{"status_not_spec", with(func(l *v1alpha1.License) {
			l.Spec.Limits = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("99")}
			l.Spec.NotAfter = &metav1.Time{Time: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)}
		})},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := test.license.DeepCopy()
			intents, err := emit(test.license)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, test.license); diff != "" {
				t.Errorf("emitting changed the License:\n%s", diff)
			}
			applytest.Golden(t, filepath.Join("testdata", test.name+".yaml"), intents...)
		})
	}
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.All().Of(fieldmanagers.License), emit, in(v1alpha1.LicenseActive))
}
