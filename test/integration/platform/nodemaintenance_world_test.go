package platform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/nodemaintenance"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/test/kit"
)

// maintenance is the reconciler of NodeMaintenances alone, on nodes and for works of
// the test's own: works have its label, and its manager sees no other.
type maintenance struct {
	*kit.Platform

	label string
}

const maintenanceLabel = "example.com/maintenance-test"

func newMaintenance(t *testing.T) *maintenance {
	t.Helper()
	label := kit.Unique("alone")
	return &maintenance{label: label, Platform: &kit.Platform{
		Client: kit.NewClient(t, kit.Cluster(t).Config()),
		Only:   []func(ctrl.Manager, setup.Options) error{nodemaintenance.Setup},
		See: func(options *cache.Options) {
			mine := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{maintenanceLabel: label})}
			options.ByObject = map[client.Object]cache.ByObject{&v1alpha1.NodeMaintenance{}: mine}
		},
	}}
}

// run starts a manager whose requests pass through the wrappers, until it is stopped.
func (m *maintenance) run(t *testing.T, wrap ...func(http.RoundTripper) http.RoundTripper) (stop func()) {
	t.Helper()
	restConfig := kit.Cluster(t).Config()
	for _, w := range wrap {
		restConfig.Wrap(w)
	}
	return m.Run(t, restConfig, apply.Reject)
}

// nodes creates simulated nodes, with heartbeats of kwok's, on which no pods of other
// tests land.
func (m *maintenance) nodes(t *testing.T, n int) []string {
	t.Helper()
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("node-%s-%d", m.label, i)
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{
				Name:        names[i],
				Labels:      map[string]string{maintenanceLabel: m.label, corev1.LabelHostname: names[i], corev1.LabelOSStable: "linux"},
				Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
			},
			Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: maintenanceLabel, Value: m.label, Effect: corev1.TaintEffectNoSchedule}}},
		}
		if err := m.Client.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Client.Delete(context.Background(), node) })
	}
	for _, name := range names {
		kit.WaitFor(t, name+" is ready and has no taint but the test's", func() string { return unlessSettled(m.node(t, name)) })
	}
	return names
}

// unlessSettled: until a new node is ready the node lifecycle controller writes to it,
// and makes writes stale that a test counts.
func unlessSettled(node *corev1.Node) string {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && len(node.Spec.Taints) == 1 {
			return ""
		}
	}
	return fmt.Sprintf("%v, %v", node.Status.Conditions, node.Spec.Taints)
}

// begin creates a work. Without nodes in its spec it is about all nodes of the test.
func (m *maintenance) begin(t *testing.T, name string, spec v1alpha1.NodeMaintenanceSpec) *v1alpha1.NodeMaintenance {
	t.Helper()
	if spec.Nodes == nil && spec.NodeSelector == nil {
		spec.NodeSelector = &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{maintenanceLabel: v1alpha1.LabelValue(m.label)}}
	}
	if spec.NodeDeadlineSeconds == 0 {
		spec.NodeDeadlineSeconds = 300 // the longest, as 30 s can pass on a busy machine
	}
	work := &v1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: name + "-" + m.label, Labels: map[string]string{maintenanceLabel: m.label}},
		Spec:       spec,
	}
	if err := m.Client.Create(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Client.Delete(context.Background(), work) })
	return work
}

// end waits until a work is complete.
func (m *maintenance) end(t *testing.T, work *v1alpha1.NodeMaintenance, reason string) v1alpha1.NodeMaintenanceStatus {
	t.Helper()
	kit.WaitFor(t, work.Name+" is complete", func() string {
		if err := m.Client.Get(t.Context(), client.ObjectKeyFromObject(work), work); err != nil {
			t.Fatal(err)
		}
		if !meta.IsStatusConditionTrue(work.Status.Conditions, v1alpha1.ConditionComplete) {
			return fmt.Sprintf("%+v", work.Status)
		}
		return ""
	})
	if got := meta.FindStatusCondition(work.Status.Conditions, v1alpha1.ConditionComplete); got.Reason != reason {
		t.Errorf("%s ended with %s (%s), want %s: %+v", work.Name, got.Reason, got.Message, reason, work.Status.Nodes)
	}
	return work.Status
}

// do is a work from its beginning to its end.
func (m *maintenance) do(t *testing.T, name string, spec v1alpha1.NodeMaintenanceSpec, reason string) v1alpha1.NodeMaintenanceStatus {
	t.Helper()
	return m.end(t, m.begin(t, name, spec), reason)
}

func (m *maintenance) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	var node corev1.Node
	if err := m.Client.Get(t.Context(), client.ObjectKey{Name: name}, &node); err != nil {
		t.Fatal(err)
	}
	return &node
}

// wantMarked checks that a node is cordoned by a work, or that nothing is left of it,
// neither a mark nor a field of our manager's.
func (m *maintenance) wantMarked(t *testing.T, name string, by *v1alpha1.NodeMaintenance) {
	t.Helper()
	node, wanted := m.node(t, name), ""
	if by != nil {
		wanted = by.Name
	}
	if node.Spec.Unschedulable != (by != nil) || node.Annotations[nodemaintenance.Annotation] != wanted {
		t.Errorf("%s: unschedulable %v, annotations %v; want it cordoned by %q", name, node.Spec.Unschedulable, node.Annotations, wanted)
	}
	ownership, err := fieldowners.Parse(node.ManagedFields)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ownership.Entries() {
		if entry.Name == fieldmanagers.NodeMaintenance && by == nil {
			t.Errorf("%s: %v still owns %v", name, entry.Manager, entry.Fields())
		}
	}
}

// sentTo counts the requests that the manager sent since the last call, by method:
// those to the nodes that are named, and writes of statuses.
func (m *maintenance) sentTo(nodes ...string) (toNodes map[string]int, statuses int) {
	toNodes = map[string]int{}
	for _, request := range m.Writes.Take() {
		method, path, _ := strings.Cut(request, " ")
		for _, name := range nodes {
			if path == "/api/v1/nodes/"+name {
				toNodes[method]++
			}
		}
		if strings.HasSuffix(path, "-"+m.label+"/status") {
			statuses++
		}
	}
	return toNodes, statuses
}
