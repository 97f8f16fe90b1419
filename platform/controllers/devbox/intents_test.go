package devbox

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
)

// sample is a Devbox that has its first content.
func sample() *v1alpha1.Devbox {
	return &v1alpha1.Devbox{
		ObjectMeta: metav1.ObjectMeta{Name: "box", Namespace: "team", UID: "0000-1"},
		Spec: v1alpha1.DevboxSpec{
			Image:   "registry.example.com/dev:1",
			State:   v1alpha1.DevboxRunning,
			Network: v1alpha1.DevboxNetwork{Type: v1alpha1.NetworkClusterIP, Port: 22},
		},
		Status: v1alpha1.DevboxStatus{ContentID: first},
	}
}

func with(change func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
	box := sample()
	change(box)
	return box
}

var emitters = map[string]func(*v1alpha1.Devbox) ([]apply.Intent, error){
	"workload": emitWorkload,
	"power":    emitPower,
	"network":  emitNetwork,
	"content":  emitContent,
}

// TestGoldenIntents shows what each reconciler wants of a Devbox. Write the files
// anew with: APPLYTEST_UPDATE=1 go test ./platform/controllers/devbox -run Golden
func TestGoldenIntents(t *testing.T) {
	for _, test := range []struct {
		emitter, name string
		box           *v1alpha1.Devbox
	}{
		{"workload", "minimal", sample()},
		{"workload", "stopped", with(func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxStopped })},
		{"workload", "content", with(func(b *v1alpha1.Devbox) { b.Status.ContentID = committed })},
		{"workload", "waiting", with(func(b *v1alpha1.Devbox) { b.Status.ContentID = firstOfV2 })},
		{"workload", "resources", with(func(b *v1alpha1.Devbox) {
			b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m")}
			b.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
		})},
		{"power", "running", sample()},
		{"power", "stopped", with(func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxStopped })},
		{"power", "shutdown", with(func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxShutdown })},
		{"network", "clusterip", sample()},
		{"network", "nodeport", with(func(b *v1alpha1.Devbox) {
			b.Spec.Network = v1alpha1.DevboxNetwork{Type: v1alpha1.NetworkNodePort, Port: 8080}
		})},
		{"network", "none", with(func(b *v1alpha1.Devbox) { b.Spec.Network.Type = v1alpha1.NetworkNone })},
	} {
		t.Run(test.emitter+"/"+test.name, func(t *testing.T) {
			before := test.box.DeepCopy()
			intents, err := emitters[test.emitter](test.box)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, test.box); diff != "" {
				t.Errorf("emitting changed the Devbox:\n%s", diff)
			}
			golden := filepath.Join("testdata", test.emitter+"_"+test.name+".yaml")
			applytest.Golden(t, golden, intents...)
		})
	}
}
