package nodemaintenance

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
)

var allMarks = []mark{{}, {annotation: Annotation}, {annotation: ReasonAnnotation}}

func someNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "0000-1"}}
}

func someWork(action v1alpha1.MaintenanceAction, reason string) *v1alpha1.NodeMaintenance {
	return &v1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: "kernel", Generation: 1},
		Spec:       v1alpha1.NodeMaintenanceSpec{Action: action, Reason: reason, Concurrency: 2, NodeDeadlineSeconds: 30},
	}
}

// TestGoldenIntents shows what is applied to a node. Write the files anew with:
// APPLYTEST_UPDATE=1 go test ./platform/controllers/nodemaintenance -run Golden
func TestGoldenIntents(t *testing.T) {
	for name, intent := range map[string]apply.Intent{
		"cordon":           cordon(someNode(), someWork(v1alpha1.Cordon, "kernel update")),
		"cordon_no_reason": cordon(someNode(), someWork(v1alpha1.Cordon, "")),
		"take":             take(someNode(), allMarks),
		"take_cordon":      take(someNode(), allMarks[:1]),
	} {
		t.Run(name, func(t *testing.T) { applytest.Golden(t, filepath.Join("testdata", name+".yaml"), intent) })
	}
}

func TestClaims(t *testing.T) {
	applytest.Owns(t, fieldmanagers.All().Of(fieldmanagers.NodeMaintenance), func(work *v1alpha1.NodeMaintenance) ([]apply.Intent, error) {
		return []apply.Intent{cordon(someNode(), work), take(someNode(), allMarks)}, nil
	}, someWork(v1alpha1.Cordon, "kernel update"))
}
