package slurmcontroller

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func sample(change ...func(*v1alpha1.SlurmController)) *v1alpha1.SlurmController {
	controller := &v1alpha1.SlurmController{
		ObjectMeta: metav1.ObjectMeta{Name: "slurm", Namespace: "team", UID: "0000-1"},
		Spec:       v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:25.11", Port: 6817},
	}
	for _, c := range change {
		c(controller)
	}
	return controller
}

func withResources(c *v1alpha1.SlurmController) {
	c.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
	c.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
}

// TestGoldenIntents shows what is wanted of a SlurmController. Write the files anew
// with: APPLYTEST_UPDATE=1 go test ./platform/controllers/slurmcontroller -run Golden
func TestGoldenIntents(t *testing.T) {
	for name, controller := range map[string]*v1alpha1.SlurmController{
		"minimal":   sample(),
		"port":      sample(func(c *v1alpha1.SlurmController) { c.Spec.Port = 7000 }),
		"resources": sample(withResources),
	} {
		t.Run(name, func(t *testing.T) {
			before := controller.DeepCopy()
			intents, err := emit(controller)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, controller); diff != "" {
				t.Errorf("emitting changed the SlurmController:\n%s", diff)
			}
			applytest.Golden(t, filepath.Join("testdata", name+".yaml"), intents...)
		})
	}
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.All().Of(fieldmanagers.SlurmController), emit, sample(withResources))
}
