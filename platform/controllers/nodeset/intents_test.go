package nodeset

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func full(set *v1alpha1.NodeSet) {
	set.Spec.ControllerName = "slurm"
	set.Status.ControllerAddress = "slurm-controller.team.svc:6817"
	set.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	set.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("8Gi")}
}

// TestGoldenIntents shows a pod of a NodeSet. Write the files anew with:
// APPLYTEST_UPDATE=1 go test ./platform/controllers/nodeset -run Golden
func TestGoldenIntents(t *testing.T) {
	for name, set := range map[string]*v1alpha1.NodeSet{"minimal": sample(), "full": sample(full)} {
		before := set.DeepCopy()
		applytest.Golden(t, filepath.Join("testdata", name+".yaml"), podIntent(set, 2))
		if diff := cmp.Diff(before, set); diff != "" {
			t.Errorf("%s: the intent changed the NodeSet:\n%s", name, diff)
		}
	}
}

// TestRevision: it follows what a pod is made of, and nothing else.
func TestRevision(t *testing.T) {
	for _, test := range []struct {
		reason string
		change func(*v1alpha1.NodeSet)
		same   bool
	}{
		{"an image", func(s *v1alpha1.NodeSet) { s.Spec.Image += "-1" }, false},
		{"resources", func(s *v1alpha1.NodeSet) { s.Spec.Resources.Requests = nil }, false},
		{"the same amount, otherwise written", func(s *v1alpha1.NodeSet) {
			s.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse("2000m")
		}, true},
		{"the controller's port", func(s *v1alpha1.NodeSet) { s.Status.ControllerAddress = "slurm-controller.team.svc:7000" }, false},
		{"more of them", scaled(9), true},
		{"faster", unavailable(9), true},
		{"another generation", func(s *v1alpha1.NodeSet) { s.Generation++ }, true},
	} {
		if same := revision(sample(full)) == revision(sample(full, test.change)); same != test.same {
			t.Errorf("%s: the revision is the same: %t", test.reason, same)
		}
	}
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.All().Of(fieldmanagers.NodeSet), func(set *v1alpha1.NodeSet) ([]apply.Intent, error) {
		return []apply.Intent{podIntent(set, 0)}, nil
	}, sample(full))
}
