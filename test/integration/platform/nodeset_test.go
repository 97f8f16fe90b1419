package platform

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/nodeset"
	"coapply.dev/test/kit"
)

// TestNodeSetScale: 0, 20, 5, 12, and each pod is made once for each time that it is
// wanted.
func TestNodeSetScale(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	set := createNodeSet(t, p, "x", 0)
	waitForNodes(t, p, "x")
	for _, replicas := range []int{20, 5, 12} {
		scale(t, p, "x", replicas)
		waitForNodes(t, p, "x")
	}
	history.want(t, "x", "0-4:1 5-11:2 12-19:1")
	p.Quiet(t, time.Second)
	pod := p.Get(t, "x-3", &corev1.Pod{}).(*corev1.Pod)
	if !metav1.IsControlledBy(pod, set) || pod.Labels[nodeset.Label] != "x" {
		t.Errorf("x-3 is %v", pod.ObjectMeta)
	}
	deleteObject(t, p, set)
	kit.WaitFor(t, "the pods are collected", func() string {
		var pods corev1.PodList
		if err := p.Client.List(t.Context(), &pods, client.InNamespace(p.Namespace)); err != nil || len(pods.Items) > 0 {
			return fmt.Sprint(len(pods.Items), err)
		}
		return ""
	})
	history.want(t, "x", "0-4:1 5-11:2 12-19:1")
}

func TestNodeSetRollingUpdate(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	createNodeSet(t, p, "x", 6, func(set *v1alpha1.NodeSet) { set.Spec.MaxUnavailable = 2 })
	before := waitForNodes(t, p, "x")
	history.follow(t, "x", 6)
	p.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"image":"registry.example.com/slurmd:2"}}`)
	after := waitForNodes(t, p, "x")
	if before.Status.Revision == after.Status.Revision {
		t.Errorf("the revision stays %s", after.Status.Revision)
	}
	history.want(t, "x", "0-5:2")
	history.wantUnavailable(t, 2)
	for _, pod := range nodes(t, p, "x") {
		if image := pod.Spec.Containers[0].Image; image != "registry.example.com/slurmd:2" {
			t.Errorf("%s has %s", pod.Name, image)
		}
	}
	p.Quiet(t, time.Second)
}

// TestNodeSetUpdateThatFails: no pod of the new revision becomes ready, as no node can
// take it, and the update stops at maxUnavailable. Another one heals it.
func TestNodeSetUpdateThatFails(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	createNodeSet(t, p, "x", 4)
	waitForNodes(t, p, "x")
	history.follow(t, "x", 4)
	p.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"resources":{"requests":{"cpu":"100000"}}}}`)
	kit.WaitFor(t, "x-3 is of the new revision", func() string {
		var set v1alpha1.NodeSet
		if p.Get(t, "x", &set); set.Status.UpdatedReplicas != 1 || set.Status.Replicas != 4 || set.Status.ReadyReplicas != 3 {
			return fmt.Sprintf("%+v", set.Status)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	history.want(t, "x", "0-2:1 3-3:2")
	p.Patch(t, &v1alpha1.NodeSet{}, "x", `{"spec":{"resources":null}}`)
	waitForNodes(t, p, "x")
	history.want(t, "x", "0-2:1 3-3:3")
	history.wantUnavailable(t, 1)
}

func TestNodeSetPodsDeletedByHand(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	createNodeSet(t, p, "x", 12)
	waitForNodes(t, p, "x")
	kubectl(t, "delete", "pods", "--namespace", p.Namespace, "-l", nodeset.Label+"=x", "--wait=false")
	history.want(t, "x", "0-11:2")
	waitForNodes(t, p, "x")
}

// TestNodeSetPodDrift: label, owner and finished pods.
func TestNodeSetPodDrift(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	set := createNodeSet(t, p, "x", 4)
	waitForNodes(t, p, "x")
	pod := &corev1.Pod{}
	p.Patch(t, pod, "x-0", `{"metadata":{"labels":{"`+nodeset.Label+`":"y"}}}`)
	p.Patch(t, pod, "x-1", `{"metadata":{"ownerReferences":null}}`)
	patchStatus(t, p, pod, "x-2", `{"status":{"phase":"Failed"}}`)
	kit.WaitFor(t, "label and owner are back", func() string {
		for _, name := range []string{"x-0", "x-1"} {
			if p.Get(t, name, pod); pod.Labels[nodeset.Label] != "x" || !metav1.IsControlledBy(pod, set) {
				return fmt.Sprint(name, pod.Labels, pod.OwnerReferences)
			}
		}
		return ""
	})
	history.want(t, "x", "0-1:1 2-2:2 3-3:1")
	waitForNodes(t, p, "x")

	kubectl(t, "set", "image", "--namespace", p.Namespace, "pod/x-3", "slurmd=registry.example.com/slurmd:mine")
	waitForCondition(t, p, "x", v1alpha1.ConditionApplied, "OwnershipConflict")
	p.Quiet(t, time.Second)
	if p.Get(t, "x-3", pod); pod.Spec.Containers[0].Image != "registry.example.com/slurmd:mine" {
		t.Errorf("the person's image became %s", pod.Spec.Containers[0].Image)
	}
}

func waitForCondition(t *testing.T, p *kit.Platform, name, conditionType, reason string) {
	t.Helper()
	kit.WaitFor(t, conditionType+" is "+reason, func() string {
		set := p.Get(t, name, &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
		if c := meta.FindStatusCondition(set.Status.Conditions, conditionType); c == nil || c.Reason != reason {
			return c.String()
		}
		return ""
	})
}

// TestNodeSetForeignPod: it is left alone and told, the others stand, and the name is
// taken once it is free.
func TestNodeSetForeignPod(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	foreign := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: "x-1"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: nodeset.ContainerName, Image: "registry.example.com/slurmd:1"}}},
	}
	if err := p.Client.Create(t.Context(), foreign, client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	createNodeSet(t, p, "x", 3)
	waitForCondition(t, p, "x", v1alpha1.ConditionApplied, "NameTaken")
	kit.WaitFor(t, "the others", func() string {
		if n := len(nodes(t, p, "x")); n != 2 {
			return fmt.Sprint(n)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	left := p.Get(t, "x-1", &corev1.Pod{})
	if left.GetUID() != foreign.UID || slices.ContainsFunc(left.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == "coapply-nodeset"
	}) {
		t.Errorf("it was written to: %v", left.GetManagedFields())
	}
	deleteObject(t, p, foreign)
	waitForNodes(t, p, "x")
	waitForCondition(t, p, "x", v1alpha1.ConditionApplied, "Applied")
}

// TestNodeSetController: the pods wait for their SlurmController, follow its port, and
// stay when it goes.
func TestNodeSetController(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	history := history(t, p)
	createNodeSet(t, p, "x", 2, func(set *v1alpha1.NodeSet) { set.Spec.ControllerName = "slurm" })
	waitForCondition(t, p, "x", v1alpha1.ConditionReady, "NoController")
	history.want(t, "x", "")
	controller := createSlurm(t, p, "slurm")
	wantPort := func(port string) {
		t.Helper()
		waitForNodes(t, p, "x")
		env := p.Get(t, "x-1", &corev1.Pod{}).(*corev1.Pod).Spec.Containers[0].Env
		host := corev1.EnvVar{Name: "SLURM_CONTROLLER_HOST", Value: "slurm-controller." + p.Namespace + ".svc"}
		if !slices.Contains(env, host) || !slices.Contains(env, corev1.EnvVar{Name: "SLURM_CONTROLLER_PORT", Value: port}) {
			t.Errorf("the pod is told %v", env)
		}
	}
	kit.WaitFor(t, "they are told of it", func() string {
		err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: "x-1"}, &corev1.Pod{})
		if apierrors.IsNotFound(err) {
			return "no pod"
		}
		return ""
	})
	wantPort("6817")
	p.Patch(t, controller, "slurm", `{"spec":{"port":7000}}`)
	kit.WaitFor(t, "the new port is known", func() string {
		set := p.Get(t, "x", &v1alpha1.NodeSet{}).(*v1alpha1.NodeSet)
		if want := "slurm-controller." + p.Namespace + ".svc:7000"; set.Status.ControllerAddress != want {
			return set.Status.ControllerAddress
		}
		return ""
	})
	wantPort("7000")
	deleteObject(t, p, controller)
	p.Quiet(t, time.Second)
	scale(t, p, "x", 3)
	wantPort("7000")
	for _, pod := range nodes(t, p, "x") {
		if pod.DeletionTimestamp != nil {
			t.Errorf("%s is being deleted", pod.Name)
		}
	}
}
