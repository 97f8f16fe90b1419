package integration

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/devbox"
)

func (p *platform) create(t *testing.T, name string, change ...func(*v1alpha1.Devbox)) *v1alpha1.Devbox {
	t.Helper()
	box := &v1alpha1.Devbox{
		ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name},
		Spec:       v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"},
	}
	for _, c := range change {
		c(box)
	}
	if err := p.client.Create(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	return box
}

func (p *platform) get(t *testing.T, name string, object client.Object) client.Object {
	t.Helper()
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func (p *platform) set(t *testing.T, name string, state v1alpha1.DevboxState) {
	t.Helper()
	box := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"state":%q}}`, state))
	if err := p.client.Patch(t.Context(), box, patch, client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
}

func (p *platform) waitForPhase(t *testing.T, name string, phase v1alpha1.DevboxPhase) *v1alpha1.Devbox {
	start := time.Now()
	defer func() { t.Log(phase, time.Since(start)) }()
	t.Helper()
	var box v1alpha1.Devbox
	waitFor(t, name+" is "+string(phase), func() string {
		p.get(t, name, &box)
		if box.Status.Phase != phase {
			return fmt.Sprintf("phase is %q, conditions %v", box.Status.Phase, box.Status.Conditions)
		}
		return ""
	})
	return &box
}

func (p *platform) pods(t *testing.T, name string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := p.client.List(t.Context(), &pods, client.InNamespace(p.namespace), client.MatchingLabels{devbox.Label: name}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func TestDevboxLifecycle(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	p.create(t, "box")
	box := p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	if !slices.Contains(box.Finalizers, devbox.Finalizer) {
		t.Errorf("finalizers %v", box.Finalizers)
	}
	waitFor(t, "every reconciler reports", func() string { return unlessApplied(p.get(t, "box", box).(*v1alpha1.Devbox)) })
	wantOwners := map[string][]string{
		".spec.replicas": {"coapply-devbox-power/Apply"},
		`.spec.template.spec.containers[name="devbox"].image`: {"coapply-devbox-workload/Apply"},
	}
	for path, want := range wantOwners {
		if got := ownersOf(t, p.client, p.namespace, "box", path); !cmp.Equal(want, got) {
			t.Errorf("%s is owned by %v, want %v", path, got, want)
		}
	}
	if want := (&v1alpha1.DevboxNetworkStatus{Type: v1alpha1.NetworkClusterIP}); !cmp.Equal(want, box.Status.Network) {
		t.Errorf("status.network is %v", box.Status.Network)
	}
	pod := p.pods(t, "box")[0]
	if !slices.Contains(pod.Finalizers, devbox.PodFinalizer) {
		t.Fatalf("the pod's finalizers are %v", pod.Finalizers)
	}

	p.set(t, "box", v1alpha1.DevboxStopped)
	box = p.waitForPhase(t, "box", v1alpha1.PhaseStopped)
	last := box.Status.LastContainerStatus
	if last == nil || last.State.Terminated == nil || last.ContainerID == "" || last.ContainerID != pod.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("lastContainerStatus is %v; want the end of %s", last, pod.Status.ContainerStatuses[0].ContainerID)
	}
	if pods := p.pods(t, "box"); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}

	p.set(t, "box", v1alpha1.DevboxRunning)
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	p.set(t, "box", v1alpha1.DevboxShutdown)
	p.waitForPhase(t, "box", v1alpha1.PhaseShutdown)

	p.set(t, "box", v1alpha1.DevboxRunning)
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	if err := p.client.Delete(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the Devbox and all of it are gone", func() string {
		for _, object := range []client.Object{&v1alpha1.Devbox{}, &appsv1.Deployment{}, &corev1.Service{}} {
			err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "box"}, object)
			if !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T: %v", object, err)
			}
		}
		if pods := p.pods(t, "box"); len(pods) > 0 {
			return fmt.Sprintf("pods: %v", pods[0].ObjectMeta)
		}
		return ""
	})
}

func unlessApplied(box *v1alpha1.Devbox) string {
	for _, condition := range []string{v1alpha1.ConditionWorkloadApplied, v1alpha1.ConditionPowerApplied, v1alpha1.ConditionNetworkApplied} {
		if !meta.IsStatusConditionTrue(box.Status.Conditions, condition) {
			return fmt.Sprintf("%s is not True: %v", condition, box.Status.Conditions)
		}
	}
	return ""
}

// TestRestartSendsNothing: a manager that starts anew finds everything as wanted by
// what it reads, and remembers nothing.
func TestRestartSendsNothing(t *testing.T) {
	t.Parallel()
	restConfig := cluster(t).Config()
	p := &platform{client: newClient(t, restConfig), config: cluster(t).Config, writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	stop := p.run(t, restConfig, apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	p.quiet(t, time.Second)
	stop()
	p.writes.take()
	p.applies.take()

	p.run(t, restConfig, apply.Force)
	managers := map[string]bool{}
	waitFor(t, "all three have reconciled", func() string {
		for _, a := range p.applies.take() {
			managers[a.FieldManager] = true
		}
		if len(managers) < 3 {
			return fmt.Sprint(managers)
		}
		return ""
	})
	if sent := p.quiet(t, time.Second); len(sent) > 0 {
		t.Errorf("written: %v", sent)
	}
}

// TestUnchangedReconcile counts what a reconcile sends that changes nothing.
func TestUnchangedReconcile(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	p.quiet(t, time.Second)
	p.applies.take()

	// A foreign annotation changes the Deployment's generation too, so that it wakes
	// whoever watches it; so does the Deployment controller's answer to it.
	deployment := p.get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment)
	note := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/note":"x"}}}`))
	if err := p.client.Patch(t.Context(), deployment, note, client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
	sent := p.quiet(t, time.Second)
	managers := map[string]bool{}
	for _, a := range p.applies.take() {
		managers[a.FieldManager] = true
		if a.Requests != 0 || a.Attempts != 0 {
			t.Errorf("%+v; want no request", a)
		}
	}
	if !managers["coapply-devbox-workload"] || !managers["coapply-devbox-power"] {
		t.Errorf("only %v reconciled", managers)
	}
	if len(sent) > 0 {
		t.Errorf("written: %v", sent)
	}
}

func kubectl(t *testing.T, args ...string) {
	t.Helper()
	c := cluster(t)
	command := exec.CommandContext(t.Context(), c.Binaries().Kubectl, append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPersonScalesUnderReject(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Reject)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	kubectl(t, "scale", "--namespace", p.namespace, "deployment/box", "--replicas=2")
	var box v1alpha1.Devbox
	waitFor(t, "the conflict is in the status", func() string {
		p.get(t, "box", &box)
		condition := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionPowerApplied)
		if condition == nil || condition.Reason != "OwnershipConflict" || !strings.Contains(condition.Message, "kubectl/Update[scale]") {
			return condition.String()
		}
		return ""
	})
	if n := *p.get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas; n != 2 {
		t.Errorf("replicas are %d; Reject must leave the person's 2", n)
	}
	waitFor(t, "an event", func() string {
		var events eventsv1.EventList
		if err := p.client.List(t.Context(), &events, client.InNamespace(p.namespace)); err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if event.Reason == "OwnershipConflict" && event.Regarding.Name == "box" {
				return ""
			}
		}
		return fmt.Sprintf("%d others", len(events.Items))
	})
}

func TestPersonScalesUnderForce(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	kubectl(t, "scale", "--namespace", p.namespace, "deployment/box", "--replicas=2")
	waitFor(t, "the power reconciler takes the replicas back", func() string {
		owners := ownersOf(t, p.client, p.namespace, "box", ".spec.replicas")
		n := *p.get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
		if n != 1 || !cmp.Equal(owners, []string{"coapply-devbox-power/Apply"}) {
			return fmt.Sprintf("%d replicas, owned by %v", n, owners)
		}
		return ""
	})
}

func TestPodsOutlivingTheirDevboxAreLetGo(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	box := p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	// Someone takes our finalizer off, so that the Devbox goes without a clean-up.
	waitFor(t, "the Devbox is deleted behind our back", func() string {
		if err := p.client.Delete(t.Context(), box); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := p.client.Patch(t.Context(), box, off); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return ""
	})
	waitFor(t, "its pods go all the same", func() string {
		if pods := p.pods(t, "box"); len(pods) > 0 {
			return fmt.Sprintf("%d pods: %v", len(pods), pods[0].ObjectMeta)
		}
		return ""
	})
}
