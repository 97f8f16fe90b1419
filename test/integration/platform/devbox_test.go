package platform

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

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

func set(t *testing.T, p *kit.Platform, name string, state v1alpha1.DevboxState) {
	t.Helper()
	box := &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: name}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"state":%q}}`, state))
	if err := p.Client.Patch(t.Context(), box, patch, client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
}

func waitForPhase(t *testing.T, p *kit.Platform, name string, phase v1alpha1.DevboxPhase) *v1alpha1.Devbox {
	start := time.Now()
	defer func() { t.Log(phase, time.Since(start)) }()
	t.Helper()
	var box v1alpha1.Devbox
	kit.WaitFor(t, name+" is "+string(phase), func() string {
		p.Get(t, name, &box)
		if box.Status.Phase != phase {
			return fmt.Sprintf("phase is %q, conditions %v", box.Status.Phase, box.Status.Conditions)
		}
		return ""
	})
	return &box
}

func pods(t *testing.T, p *kit.Platform, name string) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	if err := p.Client.List(t.Context(), &pods, client.InNamespace(p.Namespace), client.MatchingLabels{devbox.Label: name}); err != nil {
		t.Fatal(err)
	}
	return pods.Items
}

func TestDevboxLifecycle(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	p.Create(t, "box")
	box := waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	if !slices.Contains(box.Finalizers, devbox.Finalizer) {
		t.Errorf("finalizers %v", box.Finalizers)
	}
	kit.WaitFor(t, "every reconciler reports", func() string { return kit.UnlessApplied(p.Get(t, "box", box).(*v1alpha1.Devbox)) })
	wantOwners := map[string][]string{
		".spec.replicas": {"coapply-devbox-power/Apply"},
		`.spec.template.spec.containers[name="devbox"].image`: {"coapply-devbox-workload/Apply"},
	}
	for path, want := range wantOwners {
		if got := kit.OwnersOf(t, p.Client, p.Namespace, "box", path); !cmp.Equal(want, got) {
			t.Errorf("%s is owned by %v, want %v", path, got, want)
		}
	}
	if want := (&v1alpha1.DevboxNetworkStatus{Type: v1alpha1.NetworkClusterIP}); !cmp.Equal(want, box.Status.Network) {
		t.Errorf("status.network is %v", box.Status.Network)
	}
	pod := pods(t, p, "box")[0]
	if !slices.Contains(pod.Finalizers, devbox.PodFinalizer) {
		t.Fatalf("the pod's finalizers are %v", pod.Finalizers)
	}

	kit.WaitFor(t, "the status of the running container is recorded", func() string {
		last := p.Get(t, "box", box).(*v1alpha1.Devbox).Status.LastContainerStatus
		if last == nil || last.State.Running == nil || last.ContainerID != pod.Status.ContainerStatuses[0].ContainerID {
			return last.String()
		}
		return ""
	})

	set(t, p, "box", v1alpha1.DevboxStopped)
	box = waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	last := box.Status.LastContainerStatus
	if last == nil || last.State.Terminated == nil || last.ContainerID == "" || last.ContainerID != pod.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("lastContainerStatus is %v; want the end of %s", last, pod.Status.ContainerStatuses[0].ContainerID)
	}
	if pods := pods(t, p, "box"); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}

	set(t, p, "box", v1alpha1.DevboxRunning)
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	set(t, p, "box", v1alpha1.DevboxShutdown)
	waitForPhase(t, p, "box", v1alpha1.PhaseShutdown)

	set(t, p, "box", v1alpha1.DevboxRunning)
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	if err := p.Client.Delete(t.Context(), box); err != nil {
		t.Fatal(err)
	}
	kit.WaitFor(t, "the Devbox and all of it are gone", func() string {
		for _, object := range []client.Object{&v1alpha1.Devbox{}, &appsv1.Deployment{}, &corev1.Service{}} {
			err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: "box"}, object)
			if !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T: %v", object, err)
			}
		}
		if pods := pods(t, p, "box"); len(pods) > 0 {
			return fmt.Sprintf("pods: %v", pods[0].ObjectMeta)
		}
		return ""
	})
}

// TestRestartSendsNothing: a manager that starts anew finds everything as wanted by what it reads, and remembers nothing. It
// sends what it cannot prove before it has the server's schemas, so the Devbox is paused until a first one has been proven.
func TestRestartSendsNothing(t *testing.T) {
	t.Parallel()
	restConfig := kit.Cluster(t).Config()
	p := kit.NewPlatform(t)
	stop := p.Run(t, restConfig, apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	// Ready is the last condition to change: it follows the status of the Deployment, which the Deployment controller
	// may write seconds after the pod runs.
	kit.WaitFor(t, "the box is ready", func() string {
		if status := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status; !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Sprint(status.Conditions)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	stop()
	before := len(p.Writes.About(p.Namespace, "/box"))
	was := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status
	p.Applies.Take()

	pauseBox(t, p, "box", "true")
	p.Run(t, restConfig, apply.Force)
	p.Create(t, "first")
	waitForPhase(t, p, "first", v1alpha1.PhaseRunning)
	waitForProof(t, p, "first", func(try int) { pauseBox(t, p, "first", fmt.Sprint("not yet ", try)) })
	waitForProof(t, p, "box", func(try int) {
		if try == 0 {
			pauseBox(t, p, "box", "false")
		}
	})
	p.Quiet(t, time.Second)
	if sent := p.Writes.About(p.Namespace, "/box"); len(sent) > before {
		t.Errorf("written: %v; status (-before the restart +now):\n%s", sent[before:], cmp.Diff(was, p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status))
	}
}

// waitForProof waits until all three managers have applied a Devbox's children without a request.
func waitForProof(t *testing.T, p *kit.Platform, name string, wake func(try int)) {
	t.Helper()
	managers, try := map[string]bool{}, 0
	kit.WaitFor(t, "all three have proven "+name, func() string {
		wake(try)
		try++
		p.Quiet(t, time.Second)
		for _, a := range p.Applies.Take() {
			if a.Object.Name == name && a.Requests == 0 {
				managers[a.FieldManager] = true
			}
		}
		if len(managers) < 3 {
			return fmt.Sprint(managers)
		}
		return ""
	})
}

// pauseBox sets the annotation that pauses a Devbox, which wakes every reconciler of it.
func pauseBox(t *testing.T, p *kit.Platform, name, value string) {
	t.Helper()
	p.Patch(t, &v1alpha1.Devbox{}, name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, reconciler.PausedAnnotation, value))
}

// TestUnchangedReconcile counts what a reconcile sends that changes nothing.
func TestUnchangedReconcile(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	p.Quiet(t, time.Second)
	p.Applies.Take()

	// A foreign annotation changes the Deployment's generation too, so that it wakes
	// whoever watches it; so does the Deployment controller's answer to it.
	deployment := p.Get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment)
	note := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"example.com/note":"x"}}}`))
	if err := p.Client.Patch(t.Context(), deployment, note, client.FieldOwner("person")); err != nil {
		t.Fatal(err)
	}
	sent := p.Quiet(t, time.Second)
	managers := map[string]bool{}
	for _, a := range p.Applies.Take() {
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
	c := kit.Cluster(t)
	command := exec.CommandContext(t.Context(), c.Binaries().Kubectl, append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestPersonScalesUnderReject(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Reject)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kubectl(t, "scale", "--namespace", p.Namespace, "deployment/box", "--replicas=2")
	var box v1alpha1.Devbox
	kit.WaitFor(t, "the conflict is in the status", func() string {
		p.Get(t, "box", &box)
		condition := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionPowerApplied)
		if condition == nil || condition.Reason != "OwnershipConflict" || !strings.Contains(condition.Message, "kubectl/Update[scale]") {
			return condition.String()
		}
		return ""
	})
	if n := *p.Get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas; n != 2 {
		t.Errorf("replicas are %d; Reject must leave the person's 2", n)
	}
	kit.WaitFor(t, "an event", func() string {
		var events eventsv1.EventList
		if err := p.Client.List(t.Context(), &events, client.InNamespace(p.Namespace)); err != nil {
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
	p := kit.StartPlatform(t, apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	kubectl(t, "scale", "--namespace", p.Namespace, "deployment/box", "--replicas=2")
	kit.WaitFor(t, "the power reconciler takes the replicas back", func() string {
		owners := kit.OwnersOf(t, p.Client, p.Namespace, "box", ".spec.replicas")
		n := *p.Get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
		if n != 1 || !cmp.Equal(owners, []string{"coapply-devbox-power/Apply"}) {
			return fmt.Sprintf("%d replicas, owned by %v", n, owners)
		}
		return ""
	})
}

func TestPodsOutlivingTheirDevboxAreLetGo(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	box := p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	// Someone takes our finalizer off, so that the Devbox goes without a clean-up.
	kit.WaitFor(t, "the Devbox is deleted behind our back", func() string {
		if err := p.Client.Delete(t.Context(), box); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := p.Client.Patch(t.Context(), box, off); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return ""
	})
	kit.WaitFor(t, "its pods go all the same", func() string {
		if pods := pods(t, p, "box"); len(pods) > 0 {
			return fmt.Sprintf("%d pods: %v", len(pods), pods[0].ObjectMeta)
		}
		return ""
	})
}
