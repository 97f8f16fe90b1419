package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

// TestHostileNeighbours: a namespace is full of what the API server lets in and what
// cannot work. A good Devbox, SlurmController and NodeSet among it come, work and go as
// ever; no reconciler panics, and none of them writes without a pause.
func TestHostileNeighbours(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	defer func() {
		if n := counterOf(t, "controller_runtime_reconcile_panics_total", ""); n > 0 {
			t.Errorf("%v reconciles of this process ended in a panic", n)
		}
	}()
	foreignChildren(t, p)
	for _, c := range hostileNeighbours(p.Namespace) {
		if err := p.Client.Create(t.Context(), c); err != nil {
			t.Fatalf("%T %s: %v", c, c.GetName(), err)
		}
	}
	forgeStatuses(t, p)
	deleteHeld(t, p)

	p.Create(t, "good")
	waitForPhase(t, p, "good", v1alpha1.PhaseRunning)
	kit.WaitFor(t, "every reconciler of the good one reports", func() string {
		return kit.UnlessApplied(p.Get(t, "good", &v1alpha1.Devbox{}).(*v1alpha1.Devbox))
	})
	waitForGoodSlurm(t, p)
	wantNotHot(t, p)
	wantUnforged(t, p)

	set(t, p, "good", v1alpha1.DevboxStopped)
	good := waitForPhase(t, p, "good", v1alpha1.PhaseStopped)
	deleteObject(t, p, good)
	waitUntilGone(t, p, "good")
}

// hostileNeighbours pass admission.
func hostileNeighbours(namespace string) []client.Object {
	var all []client.Object
	box := func(name string, change func(*v1alpha1.Devbox)) {
		b := &v1alpha1.Devbox{Spec: v1alpha1.DevboxSpec{Image: "a"}}
		b.Namespace, b.Name = namespace, name
		change(b)
		all = append(all, b)
	}
	for i := range 20 {
		box(fmt.Sprintf("image-%d", i), func(b *v1alpha1.Devbox) {
			b.Spec.Image = fmt.Sprintf("%d.invalid:65535/%s:%s", i, strings.Repeat("a/", 20)+"a", strings.Repeat("_", 100))
		})
	}
	for i, amount := range []string{"1P", "1n", "0", "999999999999999", "1e-9"} {
		box(fmt.Sprintf("amount-%d", i), func(b *v1alpha1.Devbox) {
			b.Spec.Resources.Requests = corev1.ResourceList{"cpu": kit.Quantity(amount), "memory": kit.Quantity(amount), "example.com/gpu": kit.Quantity("1000000")}
			b.Spec.Resources.Limits = corev1.ResourceList{"example.com/gpu": kit.Quantity("1000000")}
		})
	}
	for i := range 10 {
		box(fmt.Sprintf("x%d-%s", i, strings.Repeat("-", 48)+"x"), func(b *v1alpha1.Devbox) { b.Spec.Network.Port = int32(65535 - i) })
	}
	box("paused", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{reconciler.PausedAnnotation: "true"} })
	box("held", func(b *v1alpha1.Devbox) { b.Finalizers = []string{"example.com/never"} })
	box("annotated", func(b *v1alpha1.Devbox) { b.Annotations = map[string]string{"a": strings.Repeat("x", 200_000)} })
	for _, name := range []string{"theirs", "unlike", "forged-0", "forged-1", "forged-2"} {
		box(name, func(*v1alpha1.Devbox) {})
	}
	for i := range 3 {
		set := &v1alpha1.NodeSet{Spec: v1alpha1.NodeSetSpec{
			Image: "a", Replicas: new(int32(5)), MaxUnavailable: 1, ControllerName: "absent",
			Resources: v1alpha1.Resources{Requests: corev1.ResourceList{"memory": kit.Quantity("1P")}},
		}}
		set.Namespace, set.Name = namespace, fmt.Sprintf("impossible-%d", i)
		all = append(all, set)
	}
	odd := &v1alpha1.SlurmController{Spec: v1alpha1.SlurmControllerSpec{Image: "a", Resources: v1alpha1.Resources{Requests: corev1.ResourceList{"cpu": kit.Quantity("1P")}}}}
	odd.Namespace, odd.Name = namespace, "impossible"
	return append(all, odd)
}

// foreignChildren stand where those of two Devboxes should: somebody else's, and one
// that says it is ours and can never be made so, as its selector cannot change.
func foreignChildren(t *testing.T, p *kit.Platform) {
	t.Helper()
	for _, name := range []string{"theirs", "unlike"} {
		own := map[string]string{"app": name}
		meta := metav1.ObjectMeta{Namespace: p.Namespace, Name: name}
		if name == "unlike" {
			meta.Labels = map[string]string{devbox.Label: name}
		}
		for _, object := range []client.Object{
			&appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: own},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: own},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "a"}}},
				},
			}},
			&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}},
		} {
			if err := p.Client.Create(t.Context(), object, client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// forgeStatuses writes what no reconciler would.
func forgeStatuses(t *testing.T, p *kit.Platform) {
	t.Helper()
	for i, status := range []string{
		`{"phase":"Hovering","contentID":"../../etc/passwd","lastContentID":"x","network":{"type":"LoadBalancer","nodePort":-5}}`,
		`{"contentID":"` + strings.Repeat("c", 128) + `","lastContainerStatus":{"name":"","image":"","imageID":"","ready":true,"restartCount":-1}}`,
		`{"phase":"Stopped","lastContentID":"c-00000000-00000000","conditions":[{"type":"WorkloadApplied","status":"True","reason":"Forged","message":"","lastTransitionTime":"2000-01-01T00:00:00Z","observedGeneration":9000000000}]}`,
	} {
		patchStatus(t, p, &v1alpha1.Devbox{}, fmt.Sprintf("forged-%d", i), `{"status":`+status+`}`)
	}
	for i := range 3 {
		patchStatus(t, p, &v1alpha1.NodeSet{}, fmt.Sprintf("impossible-%d", i),
			`{"status":{"observedGeneration":9000000000,"replicas":2147483647,"readyReplicas":2147483647,"revision":"../..","selector":"a in (("}}`)
	}
	patchStatus(t, p, &v1alpha1.SlurmController{}, "impossible", `{"status":{"serviceName":"kubernetes.default"}}`)
}

// deleteHeld deletes a Devbox that never goes.
func deleteHeld(t *testing.T, p *kit.Platform) {
	t.Helper()
	deleteObject(t, p, p.Get(t, "held", &v1alpha1.Devbox{}))
}

// wantUnforged waits until nothing is left of the forged statuses, but for the forged
// record of a container, which only another container's end replaces.
func wantUnforged(t *testing.T, p *kit.Platform) {
	t.Helper()
	for i := range 3 {
		box := waitForPhase(t, p, fmt.Sprintf("forged-%d", i), v1alpha1.PhaseRunning)
		if missing := kit.UnlessApplied(box); missing != "" || len(box.Status.ContentID) != len("c-00000000-00000000") || box.Status.Network.Type != v1alpha1.NetworkClusterIP {
			t.Errorf("%s: %s %+v", box.Name, missing, box.Status)
		}
		set, name := &v1alpha1.NodeSet{}, fmt.Sprintf("impossible-%d", i)
		p.Patch(t, set, name, `{"spec":{"replicas":4}}`)
		kit.WaitFor(t, "the status of "+name+" is its own", func() string {
			p.Get(t, name, set)
			if s := set.Status; s.ObservedGeneration != set.Generation || s.Replicas+s.ReadyReplicas != 0 || strings.Contains(s.Selector, "((") {
				return fmt.Sprintf("%+v", s)
			}
			return ""
		})
	}
}

// waitForGoodSlurm makes a SlurmController and a NodeSet and waits until they are ready.
func waitForGoodSlurm(t *testing.T, p *kit.Platform) {
	t.Helper()
	slurm := &v1alpha1.SlurmController{Spec: v1alpha1.SlurmControllerSpec{Image: "a"}}
	set := &v1alpha1.NodeSet{Spec: v1alpha1.NodeSetSpec{Image: "a", Replicas: new(int32(2)), ControllerName: "good"}}
	slurm.Name, set.Name = "good", "nodes" // both make pods NAME-NUMBER
	conditions := map[client.Object]*[]metav1.Condition{slurm: &slurm.Status.Conditions, set: &set.Status.Conditions}
	for _, object := range []client.Object{slurm, set} { // the NodeSet waits for the SlurmController
		reported := conditions[object]
		object.SetNamespace(p.Namespace)
		if err := p.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, fmt.Sprintf("the good %T is ready", object), func() string {
			if p.Get(t, object.GetName(), object); !meta.IsStatusConditionTrue(*reported, v1alpha1.ConditionReady) {
				return fmt.Sprint(*reported)
			}
			return ""
		})
	}
}

// mostWrites is more than what the back-off of a failing object lets through in the
// time of this test, some 12 tries of each of its reconcilers, and far less than a
// loop without a pause.
const mostWrites = 60

// wantNotHot holds the requests to each object against what a reconciler that backs
// off sends.
func wantNotHot(t *testing.T, p *kit.Platform) {
	t.Helper()
	kit.Absence(t, 3*time.Second, "a hot loop, which writes hundreds of times in it")
	to := map[string]int{}
	for _, request := range p.Writes.Take() {
		if !strings.Contains(request, "/events") {
			to[request]++
		}
	}
	most := 0
	for request, n := range to {
		most = max(most, n)
		if n > mostWrites {
			t.Errorf("%d times %s", n, request)
		}
	}
	t.Logf("the most of one request: %d", most)
}

// counterOf is the sum of a counter that controller-runtime keeps for each controller
// of this process: of the named one, or of all.
func counterOf(t *testing.T, name, controller string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var n float64
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			if controller == "" || slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool {
				return l.GetName() == "controller" && l.GetValue() == controller
			}) {
				n += metric.GetCounter().GetValue()
			}
		}
		return n
	}
	t.Fatalf("there is no %s any more", name)
	return 0
}
