package delivery

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

// TestLeaderKilled: two managers run, and the leader is killed in the middle of its
// work. The other one takes over and finishes it: what stood is not written again, and
// no pod is made twice.
func TestLeaderKilled(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	c, err := kit.StartCluster(t.Context(), "leader", 5)
	if err != nil {
		t.Fatal(err)
	}
	p := &kit.Platform{Namespace: "default", Client: kit.NewClient(t, c.Config())}
	pods := watchPods(t, c)
	start := func() *kit.Process {
		probes := kit.FreeAddress(t)
		m := kit.StartManager(t, c.Kubeconfig(), "--leader-elect-namespace=default", "--metrics-bind-address=0",
			"--health-probe-bind-address", probes, "--log-level=error")
		kit.WaitFor(t, "ready", func() string { return kit.Ready(probes) })
		return m
	}
	first := start()
	kit.WaitFor(t, "a leader", func() string {
		if leader(t, p) == "" {
			return "none"
		}
		return ""
	})
	killed := leader(t, p)
	start()

	const before, after = 10, 40
	grow(t, p, 0, before)
	waitForAll(t, p, before)
	stood := p.Versions(t)

	grow(t, p, before, after)
	kit.WaitFor(t, "the leader is in the middle of it", func() string {
		var deployments appsv1.DeploymentList
		p.List(t, &deployments)
		if n := len(deployments.Items); n < before+3 {
			return fmt.Sprintf("%d Deployments", n)
		}
		return ""
	})
	if err := first.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var deployments appsv1.DeploymentList
	p.List(t, &deployments)
	t.Logf("killed with %d of %d Deployments", len(deployments.Items), after)

	waitForAll(t, p, after)
	if now := leader(t, p); now == killed || now == "" {
		t.Errorf("the leader is %q, was %q", now, killed)
	}
	now := p.Versions(t)
	for name, version := range stood {
		if strings.HasSuffix(name, "/compute") || strings.HasPrefix(name, "NamespaceList") { // grown with the rest
			continue
		}
		if now[name] != version {
			t.Errorf("%s stood, and went from resourceVersion %s to %s", name, version, now[name])
		}
	}
	p.List(t, &deployments)
	for i := range deployments.Items {
		if d := &deployments.Items[i]; d.Generation != 1 {
			t.Errorf("Deployment %s has generation %d: it was changed after it was made", d.Name, d.Generation)
		}
	}
	pods.wantNoneTwice(t, 2*after)
}

func leader(t *testing.T, p *kit.Platform) string {
	t.Helper()
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: "default", Name: "coapply-manager.coapply.dev"}
	if err := p.Client.Get(t.Context(), key, &lease); err != nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// grow brings the Devboxes and the pods of one NodeSet from one number to another.
func grow(t *testing.T, p *kit.Platform, from, to int) {
	t.Helper()
	set := &v1alpha1.NodeSet{Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(to))}}
	set.Name, set.Namespace = "compute", p.Namespace
	if from == 0 {
		if err := p.Client.Create(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	} else {
		p.Patch(t, &v1alpha1.NodeSet{}, "compute", fmt.Sprintf(`{"spec":{"replicas":%d}}`, to))
	}
	for i := from; i < to; i++ {
		p.Create(t, kit.BoxName(i))
	}
}

func waitForAll(t *testing.T, p *kit.Platform, n int) {
	t.Helper()
	kit.WaitFor(t, fmt.Sprintf("%d Devboxes and pods of the NodeSet", n), func() string {
		for i := range n {
			var box v1alpha1.Devbox
			p.Get(t, kit.BoxName(i), &box)
			if box.Status.Phase != v1alpha1.PhaseRunning {
				return fmt.Sprintf("%s is %q", box.Name, box.Status.Phase)
			}
			if missing := kit.UnlessApplied(&box); missing != "" {
				return missing
			}
			if !meta.IsStatusConditionTrue(box.Status.Conditions, v1alpha1.ConditionReady) { // written after the others
				return box.Name + " is not ready"
			}
		}
		var set v1alpha1.NodeSet
		if p.Get(t, "compute", &set); set.Status.ReadyReplicas != int32(n) {
			return fmt.Sprintf("%d pods are ready", set.Status.ReadyReplicas)
		}
		return ""
	})
}

// podLog has every pod that ever was, by what it stands for: the name of a NodeSet's
// pod, or the Devbox.
type podLog struct {
	mu   sync.Mutex
	uids map[string]map[types.UID]bool
}

func watchPods(t *testing.T, c *localcluster.Cluster) *podLog {
	t.Helper()
	watcher, err := client.NewWithWatch(c.Config(), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	w, err := watcher.Watch(ctx, &corev1.PodList{}, client.InNamespace("default"))
	if err != nil {
		t.Fatal(err)
	}
	log := &podLog{uids: map[string]map[types.UID]bool{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				log.note(pod)
			}
		}
	}()
	t.Cleanup(func() { cancel(); w.Stop(); <-done })
	return log
}

func (l *podLog) note(pod *corev1.Pod) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name := pod.Name
	if box := pod.Labels[devbox.Label]; box != "" {
		name = box
	}
	if l.uids[name] == nil {
		l.uids[name] = map[types.UID]bool{}
	}
	l.uids[name][pod.UID] = true
}

func (l *podLog) wantNoneTwice(t *testing.T, want int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.uids) != want {
		t.Errorf("pods for %d were seen, want %d", len(l.uids), want)
	}
	for name, uids := range l.uids {
		if len(uids) != 1 {
			t.Errorf("%s had %d pods", name, len(uids))
		}
	}
}
