package platform

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/nodemaintenance"
	"coapply.dev/test/kit"
)

// TestForeignAnnotation: what somebody else wrote stays, also under force, and the
// error names them; the node is uncordoned all the same.
func TestForeignAnnotation(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 2)
	m.run(t)
	cordon := m.begin(t, "cordon", cordonAll)
	onlyAttempts(t, m.end(t, cordon, "Succeeded"), 2, 1)
	// The first is written as it stands, and so shared; the second is taken from us.
	kubectl(t, "annotate", "node", nodes[0], nodemaintenance.Annotation+"="+cordon.Name, "--overwrite", "--field-manager=colleague")
	kubectl(t, "annotate", "node", nodes[1], nodemaintenance.Annotation+"=mine", "--overwrite", "--field-manager=colleague")

	onlyAttempts(t, m.do(t, "same-again", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon, Nodes: nodes[:1]}, "Succeeded"), 1, 1)
	forced := uncordonAll
	forced.Force, forced.Nodes = true, nodes[1:]
	failed := m.do(t, "uncordon", forced, "Failed").Nodes[0]
	want := "ownership conflict on Node " + nodes[1] + `: coapply-node-maintenance cannot remove ` +
		`.metadata.annotations["platform.coapply.dev/maintenance"]: owned by colleague/Update`
	if failed.Error != want {
		t.Errorf("%q, want %q", failed.Error, want)
	}
	if node := m.node(t, nodes[1]); node.Spec.Unschedulable || node.Annotations[nodemaintenance.Annotation] != "mine" {
		t.Errorf("unschedulable %v, annotations %v", node.Spec.Unschedulable, node.Annotations)
	}
	conflict := m.do(t, "cordon-again", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Nodes: nodes[1:]}, "Failed").Nodes[0]
	if !strings.Contains(conflict.Error, "owned by colleague/Update with value \"mine\"") || m.node(t, nodes[1]).Spec.Unschedulable {
		t.Errorf("%+v", conflict)
	}
}

// TestNodeDeletedMeanwhile: a node that goes between the read and the write is not
// brought back.
func TestNodeDeletedMeanwhile(t *testing.T) {
	for _, test := range []struct {
		name string
		spec v1alpha1.NodeMaintenanceSpec
	}{
		{"apply-cordon", cordonAll}, {"apply-uncordon", uncordonAll}, {"update-cordon", byUpdate(cordonAll)}, {"update-uncordon", byUpdate(uncordonAll)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := newMaintenance(t)
			nodes := m.nodes(t, 1)
			if test.spec.Action == v1alpha1.Uncordon {
				stop := m.run(t)
				m.do(t, "before", cordonAll, "Succeeded")
				stop()
			}
			m.run(t, func(next http.RoundTripper) http.RoundTripper {
				return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
					if name := nodeWritten(request); name != "" {
						node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
						if err := m.Client.Delete(request.Context(), node); client.IgnoreNotFound(err) != nil {
							t.Error(err)
						}
					}
					return next.RoundTrip(request)
				})
			})
			status := m.do(t, test.name, test.spec, "Failed")
			if got := status.Nodes[0]; got.Error != "the node does not exist" && !strings.Contains(got.Error, "deleted or recreated") || got.Attempts < 1 {
				t.Errorf("%+v", got)
			}
			if err := m.Client.Get(t.Context(), client.ObjectKey{Name: nodes[0]}, &corev1.Node{}); !apierrors.IsNotFound(err) {
				t.Errorf("the node is back: %v", err)
			}
		})
	}
}

// TestForceAgainstAnother: who cordons a node each time that it is looked at wins, as
// the work ends with the node's deadline.
func TestForceAgainstAnother(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 1)
	m.run(t, func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodGet && request.URL.Path == "/api/v1/nodes/"+nodes[0] {
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodes[0]}}
				patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"unschedulable":true}}`))
				if err := m.Client.Patch(request.Context(), node, patch, client.FieldOwner("stubborn")); err != nil && request.Context().Err() == nil {
					t.Error(err)
				}
			}
			return next.RoundTrip(request)
		})
	})
	spec := uncordonAll
	spec.Force, spec.NodeDeadlineSeconds = true, 10
	got := m.do(t, "uncordon", spec, "Failed").Nodes[0]
	if !strings.HasPrefix(got.Error, "did not succeed within 10 s (spec.nodeDeadlineSeconds) and ") || got.Attempts < 1 {
		t.Errorf("%+v", got)
	}
	if sent, _ := m.sentTo(nodes[0]); sent["PATCH"] > 12*int(got.Attempts+1) {
		t.Errorf("%v in %d attempts", sent, got.Attempts)
	}
}
