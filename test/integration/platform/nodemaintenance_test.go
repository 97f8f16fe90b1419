package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/nodemaintenance"
	"coapply.dev/test/kit"
)

var (
	cordonAll   = v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Concurrency: 15, Reason: "kernel update"}
	uncordonAll = v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Uncordon, Concurrency: 15}
)

func byUpdate(spec v1alpha1.NodeMaintenanceSpec) v1alpha1.NodeMaintenanceSpec {
	spec.Strategy = v1alpha1.StrategyUpdate
	return spec
}

// onlyAttempts checks that each node succeeded after so many attempts. (By strategy
// Update that holds for nodes that nobody else writes to: where one has just been
// cordoned, the node lifecycle controller taints it.)
func onlyAttempts(t *testing.T, status v1alpha1.NodeMaintenanceStatus, nodes int, attempts int32) {
	t.Helper()
	if int(status.Total) != nodes || int(status.Succeeded) != nodes || status.Failed != 0 || len(status.Nodes) != nodes {
		t.Errorf("%d of %d nodes succeeded, want %d: %+v", status.Succeeded, status.Total, nodes, status.Nodes)
	}
	for _, node := range status.Nodes {
		if node.Attempts != attempts || node.Error != "" {
			t.Errorf("%s took %d attempts, want %d (%s)", node.Name, node.Attempts, attempts, node.Error)
		}
	}
}

// TestNodesCordonedAndUncordoned takes a batch of seven through both, by both
// strategies, and counts what was sent.
func TestNodesCordonedAndUncordoned(t *testing.T) {
	for _, test := range []struct {
		strategy v1alpha1.WriteStrategy
		method   string
	}{{v1alpha1.StrategyApply, "PATCH"}, {v1alpha1.StrategyUpdate, "PUT"}} {
		t.Run(string(test.strategy), func(t *testing.T) {
			t.Parallel()
			m := newMaintenance(t)
			nodes := m.nodes(t, 7)
			m.run(t)
			cordoning, uncordoning := cordonAll, uncordonAll
			cordoning.Strategy, uncordoning.Strategy = test.strategy, test.strategy

			cordon := m.begin(t, "cordon", cordoning)
			onlyAttempts(t, m.end(t, cordon, "Succeeded"), 7, 1)
			wantSent(t, m, nodes, map[string]int{test.method: 7}, 2)
			for _, name := range nodes {
				m.wantMarked(t, name, cordon)
				if got := m.node(t, name).Annotations[nodemaintenance.ReasonAnnotation]; got != "kernel update" {
					t.Errorf("%s: the reason is %q", name, got)
				}
			}
			pod := m.pod(t)
			kit.WaitFor(t, "no node for the pod", func() string { return unlessCondition(m.pods(t, pod), corev1.PodReasonUnschedulable) })

			uncordoning.Concurrency = 3
			attempts := wantSuccess(t, m.do(t, "uncordon", uncordoning, "Succeeded"), 7)
			if test.strategy == v1alpha1.StrategyApply && attempts != 7 {
				t.Errorf("%d attempts", attempts)
			}
			wantSent(t, m, nodes, map[string]int{test.method: attempts}, 4) // picked, then 3 + 3 + 1
			for _, name := range nodes {
				m.wantMarked(t, name, nil)
			}
			kit.WaitFor(t, "a node for the pod", func() string {
				if on := m.pods(t, pod).Spec.NodeName; !strings.HasPrefix(on, "node-"+m.label) {
					return "it is on " + on
				}
				return ""
			})

			onlyAttempts(t, m.do(t, "again", uncordoning, "Succeeded"), 7, 0)
			wantSent(t, m, nodes, map[string]int{}, 4)
		})
	}
}

// wantSuccess checks that each node succeeded, and gives the attempts of all.
func wantSuccess(t *testing.T, status v1alpha1.NodeMaintenanceStatus, nodes int) (attempts int) {
	t.Helper()
	if int(status.Succeeded) != nodes || int(status.Total) != nodes {
		t.Errorf("%d of %d nodes succeeded, want %d: %+v", status.Succeeded, status.Total, nodes, status.Nodes)
	}
	for _, node := range status.Nodes {
		attempts += int(node.Attempts)
	}
	return attempts
}

func wantSent(t *testing.T, m *maintenance, nodes []string, toNodes map[string]int, statuses int) {
	t.Helper()
	gotNodes, gotStatuses := m.sentTo(nodes...)
	if diff := cmp.Diff(toNodes, gotNodes); diff != "" || gotStatuses != statuses {
		t.Errorf("to nodes -want +got:\n%s%d status writes, want %d", diff, gotStatuses, statuses)
	}
}

// pod creates one that can run on the nodes of the test alone.
func (m *maintenance) pod(t *testing.T) client.ObjectKey {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, m.Client), Name: "pod"},
		Spec: corev1.PodSpec{
			Containers:   []corev1.Container{{Name: "c", Image: "registry.example.com/c:1"}},
			NodeSelector: map[string]string{maintenanceLabel: m.label},
			Tolerations:  []corev1.Toleration{{Key: maintenanceLabel, Operator: corev1.TolerationOpExists}},
		},
	}
	if err := m.Client.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return client.ObjectKeyFromObject(pod)
}

func (m *maintenance) pods(t *testing.T, key client.ObjectKey) *corev1.Pod {
	t.Helper()
	var pod corev1.Pod
	if err := m.Client.Get(t.Context(), key, &pod); err != nil {
		t.Fatal(err)
	}
	return &pod
}

func unlessCondition(pod *corev1.Pod, reason string) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Reason == reason {
			return ""
		}
	}
	return fmt.Sprintf("on %q, %v", pod.Spec.NodeName, pod.Status.Conditions)
}

// TestForeignCordon: what kubectl cordoned is kubectl's, with our cordon beside it or
// not, until force takes it.
func TestForeignCordon(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 2)
	m.run(t)
	for _, name := range nodes {
		kubectl(t, "cordon", name)
	}
	onlyAttempts(t, m.do(t, "cordon", v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Nodes: nodes[:1]}, "Succeeded"), 1, 1)

	status := m.do(t, "uncordon", uncordonAll, "Failed")
	for i, node := range status.Nodes {
		want := "ownership conflict on Node " + nodes[i] +
			": coapply-node-maintenance cannot set .spec.unschedulable to false: owned by kubectl/Update"
		if node.Result != v1alpha1.NodeFailed || node.Error != want {
			t.Errorf("%+v, want %q", node, want)
		}
		live := m.node(t, node.Name)
		if _, ours := live.Annotations[nodemaintenance.Annotation]; ours || !live.Spec.Unschedulable {
			t.Errorf("%s: unschedulable %v, annotations %v; want what is ours gone, and no more", node.Name, live.Spec.Unschedulable, live.Annotations)
		}
	}
	forced := uncordonAll
	forced.Force = true
	onlyAttempts(t, m.do(t, "forced", forced, "Succeeded"), 2, 1)
	for _, name := range nodes {
		m.wantMarked(t, name, nil)
	}
}

// TestStrategiesMeet: what one strategy cordoned the other uncordons.
func TestStrategiesMeet(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 2)
	m.run(t)
	for round, specs := range [][]v1alpha1.NodeMaintenanceSpec{
		{byUpdate(cordonAll), uncordonAll}, {cordonAll, byUpdate(uncordonAll)}, {byUpdate(cordonAll), cordonAll, uncordonAll},
	} {
		for i, spec := range specs {
			if attempts := wantSuccess(t, m.do(t, fmt.Sprintf("round-%d-%d", round, i), spec, "Succeeded"), 2); attempts < 2 {
				t.Errorf("%v in %d attempts", specs[i], attempts)
			}
		}
		for _, name := range nodes {
			m.wantMarked(t, name, nil)
		}
	}
}

// TestOperatorsAtOnce: three works for the same nodes, all of which succeed.
func TestOperatorsAtOnce(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 5)
	m.run(t)
	for _, spec := range []v1alpha1.NodeMaintenanceSpec{cordonAll, uncordonAll} {
		var works []*v1alpha1.NodeMaintenance
		for i := range 3 {
			works = append(works, m.begin(t, fmt.Sprintf("%s-%d", strings.ToLower(string(spec.Action)), i), spec))
		}
		for _, work := range works {
			if status := m.end(t, work, "Succeeded"); status.Succeeded != 5 {
				t.Errorf("%+v", status)
			}
		}
		for _, name := range nodes {
			if spec.Action == v1alpha1.Uncordon {
				m.wantMarked(t, name, nil)
			} else if !m.node(t, name).Spec.Unschedulable {
				t.Errorf("%s is not cordoned", name)
			}
		}
	}
}

func TestWorkWithoutNodes(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	m.run(t)
	if status := m.do(t, "none", cordonAll, "NoNodes"); status.Total != 0 || status.CompletionTime == nil {
		t.Errorf("%+v", status)
	}
	for _, strategy := range []v1alpha1.WriteStrategy{v1alpha1.StrategyApply, v1alpha1.StrategyUpdate} {
		absent := v1alpha1.NodeMaintenanceSpec{Action: v1alpha1.Cordon, Strategy: strategy, Nodes: []string{"absent-" + m.label}}
		status := m.do(t, "absent-"+strings.ToLower(string(strategy)), absent, "Failed")
		if got := status.Nodes[0]; got.Error != "the node does not exist" || got.Attempts != 1 {
			t.Errorf("%s: %+v", strategy, got)
		}
	}
	sent, statuses := m.sentTo("absent-" + m.label)
	if len(sent) > 0 || statuses != 5 {
		t.Errorf("%v, %d status writes", sent, statuses)
	}
}

// TestPausedWork begins when the pause ends, and what is complete is written no more.
func TestPausedWork(t *testing.T) {
	t.Parallel()
	m := newMaintenance(t)
	nodes := m.nodes(t, 1)
	work := m.begin(t, "cordon", cordonAll)
	pause := func(value string) {
		t.Helper()
		patch := fmt.Sprintf(`{"metadata":{"annotations":{"coapply.dev/paused":%s}}}`, value)
		if err := m.Client.Patch(t.Context(), work, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	pause(`"true"`)
	m.run(t)
	kit.Absence(t, time.Second, "writes")
	if sent := m.Writes.Take(); len(sent) > 0 {
		t.Errorf("written while it was paused: %v", sent)
	}
	pause("null")
	m.end(t, work, "Succeeded")
	m.wantMarked(t, nodes[0], work)
	m.Writes.Take()
	pause(`"true"`)
	pause("null")
	kit.Absence(t, time.Second, "writes")
	isEvent := func(write string) bool { return strings.HasSuffix(write, "/events") } // of the end, which is recorded in the background
	if sent := slices.DeleteFunc(m.Writes.Take(), isEvent); len(sent) > 0 {
		t.Errorf("written when all was done: %v", sent)
	}
}

// TestMaintenanceOnThePlatform: beside all other reconcilers.
func TestMaintenanceOnThePlatform(t *testing.T) {
	t.Parallel()
	p := kit.WholePlatform(t)
	m := &maintenance{Platform: p, label: kit.Unique("platform")}
	nodes := m.nodes(t, 3)
	cordon := m.begin(t, "cordon", cordonAll)
	onlyAttempts(t, m.end(t, cordon, "Succeeded"), 3, 1)
	for _, name := range nodes {
		m.wantMarked(t, name, cordon)
	}
	onlyAttempts(t, m.do(t, "uncordon", uncordonAll, "Succeeded"), 3, 1)
	for _, name := range nodes {
		m.wantMarked(t, name, nil)
	}
}
