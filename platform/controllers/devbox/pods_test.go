package devbox

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/platform/api/v1alpha1"
)

func pod(change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "box-1", Finalizers: []string{PodFinalizer}, Labels: map[string]string{"pod-template-hash": "5f"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "box-5f", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1"},
		Status: corev1.PodStatus{
			Phase:             corev1.PodRunning,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: ContainerName, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}},
		},
	}
	for _, c := range change {
		c(p)
	}
	return p
}

func deleting(grace int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		now := metav1.Now()
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &now, &grace
	}
}

func terminated(p *corev1.Pod) {
	p.Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3}}
}

// strangers has a pod be one of another Deployment, whose template is a copy of ours.
func strangers(p *corev1.Pod) { p.OwnerReferences[0].Name = "copy-5f" }

func TestOwnPods(t *testing.T) {
	orphan := func(p *corev1.Pod) { p.OwnerReferences = nil }
	for _, test := range []struct {
		reason string
		pod    *corev1.Pod
		want   bool
	}{
		{"of the Deployment's ReplicaSet", pod(), true},
		{"that, and our finalizer is off", pod(func(p *corev1.Pod) { p.Finalizers = nil }), true},
		{"its ReplicaSet is gone", pod(orphan), true},
		{"nothing but the label", pod(orphan, func(p *corev1.Pod) { p.Finalizers = nil }), false},
		{"of another Deployment", pod(strangers), false},
		{"of another kind", pod(func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "Job" }), false},
	} {
		if got := len(ownPods(with(func(*v1alpha1.Devbox) {}), []*corev1.Pod{test.pod})) == 1; got != test.want {
			t.Errorf("%s: own is %t", test.reason, got)
		}
	}
}

func TestEndedPods(t *testing.T) {
	for _, test := range []struct {
		reason string
		state  v1alpha1.DevboxState
		pod    *corev1.Pod
		want   bool
	}{
		{"it runs", v1alpha1.DevboxRunning, pod(), false},
		{"its container restarts, the pod stays", v1alpha1.DevboxRunning, pod(terminated), false},
		{"it is being deleted and still runs", v1alpha1.DevboxStopped, pod(deleting(30)), false},
		{"its container has ended", v1alpha1.DevboxStopped, pod(deleting(30), terminated), true},
		{"the kubelet is done with it", v1alpha1.DevboxStopped, pod(deleting(0)), true},
		{"it has failed", v1alpha1.DevboxRunning, pod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), true},
		{"it never got a node", v1alpha1.DevboxStopped, pod(deleting(30), func(p *corev1.Pod) { p.Spec.NodeName = "" }), true},
		{"its container never started", v1alpha1.DevboxStopped, pod(deleting(30), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil }), false},
		{"our finalizer is off already", v1alpha1.DevboxStopped, pod(deleting(0), func(p *corev1.Pod) { p.Finalizers = nil }), false},
		{"a shutdown does not wait", v1alpha1.DevboxShutdown, pod(deleting(30)), true},
		{"a shutdown deletes what a crash left after our finalizer", v1alpha1.DevboxShutdown, pod(deleting(30), func(p *corev1.Pod) { p.Finalizers = nil }), true},
		{"a shutdown deletes what has finished, which no ReplicaSet does", v1alpha1.DevboxShutdown,
			pod(func(p *corev1.Pod) { p.Status.Phase, p.Finalizers = corev1.PodFailed, nil }), true},
		{"a shutdown leaves a stranger's pod that has finished", v1alpha1.DevboxShutdown,
			pod(strangers, func(p *corev1.Pod) { p.Status.Phase, p.Finalizers = corev1.PodFailed, nil }), false},
		{"a stranger's pod that got our finalizer is let go when it ends", v1alpha1.DevboxShutdown, pod(strangers, deleting(0)), true},
		{"a shutdown leaves to the Deployment what is not being deleted", v1alpha1.DevboxShutdown, pod(), false},
	} {
		box := with(func(b *v1alpha1.Devbox) { b.Spec.State = test.state })
		if got := len(endedPods(box, []*corev1.Pod{test.pod})) == 1; got != test.want {
			t.Errorf("%s: ended is %t", test.reason, got)
		}
	}
}

func TestNewest(t *testing.T) {
	created := func(minutes int, exitCode int32) *corev1.Pod {
		return pod(deleting(0), terminated, func(p *corev1.Pod) {
			p.CreationTimestamp = metav1.NewTime(time.Unix(0, 0).Add(time.Duration(minutes) * time.Minute))
			p.Status.ContainerStatuses[0].State.Terminated.ExitCode = exitCode
		})
	}
	last := newest([]*corev1.Pod{created(1, 11), created(3, 13), created(2, 12)})
	if last == nil || last.Status.ContainerStatuses[0].State.Terminated.ExitCode != 13 {
		t.Errorf("got %v, want the pod created last", last)
	}
	none := pod(deleting(0), func(p *corev1.Pod) { p.Status.ContainerStatuses = nil })
	if last := newest([]*corev1.Pod{none}); last != nil {
		t.Errorf("got %v, a pod without a container status", last)
	}
	first, second := pod(terminated), pod(terminated) // created in the same second
	first.Name, second.Name = "a", "b"
	for _, order := range [][]*corev1.Pod{{first, second}, {second, first}} {
		if last := newest(order); last != second {
			t.Errorf("got %s, want the last name in each order", last.Name)
		}
	}
}

func TestSetLast(t *testing.T) {
	for _, test := range []struct{ reason, annotation, want string }{
		{"the content that it ran on", committed, committed},
		{"a pod from before there were contents", "", ""},
		{"an annotation that somebody made up, and that the status could not hold", strings.Repeat("x", 1000), ""},
	} {
		ended := pod(terminated)
		ended.Annotations = map[string]string{ContentAnnotation: test.annotation}
		ended.Status.ContainerStatuses = append(ended.Status.ContainerStatuses, corev1.ContainerStatus{Name: "sidecar"})
		var status v1alpha1.DevboxStatus
		setLast(&status, ended)
		if status.LastContentID != test.want || status.LastContainerStatus.Name != ContainerName {
			t.Errorf("%s: %q of %s", test.reason, status.LastContentID, status.LastContainerStatus.Name)
		}
	}
}

func TestPhase(t *testing.T) {
	notReady := func(p *corev1.Pod) { p.Status.Conditions = nil }
	failed := func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed } // conditions last that nobody has changed
	for _, test := range []struct {
		state v1alpha1.DevboxState
		pods  []*corev1.Pod
		want  v1alpha1.DevboxPhase
	}{
		{v1alpha1.DevboxRunning, nil, v1alpha1.PhasePending},
		{v1alpha1.DevboxRunning, []*corev1.Pod{pod(notReady)}, v1alpha1.PhasePending},
		{v1alpha1.DevboxRunning, []*corev1.Pod{pod(deleting(30))}, v1alpha1.PhasePending},
		{v1alpha1.DevboxRunning, []*corev1.Pod{pod(deleting(30)), pod()}, v1alpha1.PhaseRunning},
		{v1alpha1.DevboxRunning, []*corev1.Pod{pod(failed)}, v1alpha1.PhasePending},
		{v1alpha1.DevboxStopped, []*corev1.Pod{pod()}, v1alpha1.PhaseStopping},
		{v1alpha1.DevboxStopped, nil, v1alpha1.PhaseStopped},
		{v1alpha1.DevboxStopped, []*corev1.Pod{pod(failed)}, v1alpha1.PhaseStopped},
		{v1alpha1.DevboxShutdown, []*corev1.Pod{pod()}, v1alpha1.PhaseStopping},
		{v1alpha1.DevboxShutdown, nil, v1alpha1.PhaseShutdown},
	} {
		box := with(func(b *v1alpha1.Devbox) { b.Spec.State = test.state })
		if got := phaseOf(box, test.pods); got != test.want {
			t.Errorf("%s with %d pods: %s, want %s", test.state, len(test.pods), got, test.want)
		}
	}
}
