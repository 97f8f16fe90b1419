package platform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

// waitForAnotherPod waits until the Devbox has one pod, running, and not that one.
func waitForAnotherPod(t *testing.T, p *kit.Platform, name string, old corev1.Pod) {
	t.Helper()
	kit.WaitFor(t, "another pod runs alone", func() string {
		pods := pods(t, p, name)
		if len(pods) != 1 || pods[0].UID == old.UID || pods[0].Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	waitForPhase(t, p, name, v1alpha1.PhaseRunning)
}

func wantLast(t *testing.T, box *v1alpha1.Devbox, of corev1.Pod) {
	t.Helper()
	last := box.Status.LastContainerStatus
	if last == nil || last.ContainerID == "" || last.ContainerID != of.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("lastContainerStatus is %v, want that of %s", last, of.Status.ContainerStatuses[0].ContainerID)
	}
}

// waitForLast waits until the Devbox has the status of the container of its running pod.
func waitForLast(t *testing.T, p *kit.Platform) {
	t.Helper()
	kit.WaitFor(t, "the status of the new container is recorded", func() string {
		last := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox).Status.LastContainerStatus
		for _, pod := range pods(t, p, "box") {
			if statuses := pod.Status.ContainerStatuses; pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil &&
				len(statuses) > 0 && last != nil && last.ContainerID == statuses[0].ContainerID && last.State.Running != nil {
				return ""
			}
		}
		return last.String()
	})
}

func podReplicas(t *testing.T, p *kit.Platform) int32 {
	t.Helper()
	return *p.Get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
}

func TestPodDeletedByForce(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	kubectl(t, "delete", "pod", "--namespace", p.Namespace, pod.Name, "--grace-period=0", "--force", "--wait=false")
	waitForAnotherPod(t, p, "box", pod)
	waitForLast(t, p)
	p.Quiet(t, time.Second)
}

// TestPodEnds: a pod that ends by itself is replaced, its status is recorded, and
// it does not keep the Devbox from being Stopped.
func TestPodEnds(t *testing.T) {
	for _, test := range []struct {
		phase corev1.PodPhase
		then  v1alpha1.DevboxState
		want  v1alpha1.DevboxPhase
		left  int
	}{
		{corev1.PodFailed, v1alpha1.DevboxStopped, v1alpha1.PhaseStopped, 1},
		{corev1.PodSucceeded, v1alpha1.DevboxShutdown, v1alpha1.PhaseShutdown, 0},
	} {
		t.Run(string(test.phase), func(t *testing.T) {
			t.Parallel()
			p, pod := running(t)
			patchStatus(t, p, &corev1.Pod{}, pod.Name, fmt.Sprintf(`{"status":{"phase":%q}}`, test.phase))
			var box v1alpha1.Devbox
			kit.WaitFor(t, "its last status stands, the pod is released and another runs", func() string {
				p.Get(t, "box", &box)
				others := 0
				for _, other := range pods(t, p, "box") {
					if other.UID == pod.UID && len(other.Finalizers) > 0 {
						return "not released"
					}
					if other.UID != pod.UID && other.Status.Phase == corev1.PodRunning {
						others++
					}
				}
				if box.Status.LastContainerStatus == nil || others != 1 {
					return fmt.Sprintf("%v, %d others", box.Status.LastContainerStatus, others)
				}
				return ""
			})
			waitForLast(t, p)
			set(t, p, "box", test.then)
			waitForPhase(t, p, "box", test.want)
			p.Quiet(t, time.Second)
			if left := len(pods(t, p, "box")); left > test.left {
				t.Errorf("%d pods are left, want at most %d", left, test.left)
			}
			deleteObject(t, p, &box)
			waitUntilGone(t, p, "box")
		})
	}
}

// TestShutdownWhileStopping: what holds a pod that ends gracefully is another's
// finalizer, so that the Shutdown finds it.
func TestShutdownWhileStopping(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	p.Patch(t, &corev1.Pod{}, pod.Name, fmt.Sprintf(`{"metadata":{"finalizers":[%q,"example.com/other"]}}`, devbox.PodFinalizer))
	set(t, p, "box", v1alpha1.DevboxStopped)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopping)
	set(t, p, "box", v1alpha1.DevboxShutdown)
	kit.WaitFor(t, "our finalizer is off", func() string {
		if pods := pods(t, p, "box"); len(pods) != 1 || !cmp.Equal(pods[0].Finalizers, []string{"example.com/other"}) {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	p.Quiet(t, time.Second) // and no deletion is repeated for ever
	p.Patch(t, &corev1.Pod{}, pod.Name, `{"metadata":{"finalizers":null}}`)
	waitForPhase(t, p, "box", v1alpha1.PhaseShutdown)
	wantLast(t, p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox), pod)
}

// TestManagerDiesBeforeThePodsRelease: the status was written first, so that
// nothing is lost.
func TestManagerDiesBeforeThePodsRelease(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	p := kit.NewPlatform(t)
	var broken atomic.Bool
	var failed atomic.Int32
	stop := p.Run(t, failPods(config, &broken, &failed), apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	pod := pods(t, p, "box")[0]
	broken.Store(true)
	set(t, p, "box", v1alpha1.DevboxStopped)
	kit.WaitFor(t, "a release was tried", func() string {
		if failed.Load() == 0 {
			return "none"
		}
		return ""
	})
	stop()
	wantLast(t, p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox), pod)
	if pods := pods(t, p, "box"); len(pods) != 1 {
		t.Fatalf("%d pods; it must be kept", len(pods))
	}
	p.Run(t, config, apply.Force)
	wantLast(t, waitForPhase(t, p, "box", v1alpha1.PhaseStopped), pod)
	if pods := pods(t, p, "box"); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}
	p.Quiet(t, time.Second)
}

// TestPodReplacedBeforeItsRelease: what has the pod's name when the release goes
// out is another one, with the finalizer and the label, and is left alone.
func TestPodReplacedBeforeItsRelease(t *testing.T) {
	t.Parallel()
	config := kit.Cluster(t).Config()
	p := kit.NewPlatform(t)
	var first atomic.Bool
	replaced := make(chan struct{})
	var other corev1.Pod // until replaced is closed, its writer's alone
	replace := func(ctx context.Context, name string) error {
		key := client.ObjectKey{Namespace: p.Namespace, Name: name}
		var old corev1.Pod
		if err := p.Client.Get(ctx, key, &old); err != nil {
			return err
		}
		off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := p.Client.Patch(ctx, &old, off); err != nil {
			return err
		}
		if err := p.Client.Delete(ctx, &old, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
		other = corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: p.Namespace, Name: name,
				Labels:     map[string]string{devbox.Label: "box"},
				Finalizers: []string{devbox.PodFinalizer},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/other:1"}}},
		}
		return p.Client.Create(ctx, &other)
	}
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/pods/") && first.CompareAndSwap(false, true) {
				defer close(replaced)
				name := request.URL.Path[strings.LastIndex(request.URL.Path, "/")+1:]
				if err := replace(request.Context(), name); err != nil {
					t.Error(err)
				}
			}
			return next.RoundTrip(request)
		})
	})
	p.Run(t, wrapped, apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	set(t, p, "box", v1alpha1.DevboxStopped)
	kit.WaitFor(t, "the pod is replaced", func() string {
		select {
		case <-replaced:
			return ""
		default:
			return "not yet"
		}
	})
	p.Quiet(t, time.Second)
	var now corev1.Pod
	if p.Get(t, other.Name, &now); now.UID != other.UID || !cmp.Equal(now.Finalizers, other.Finalizers) || now.DeletionTimestamp != nil {
		t.Errorf("the other pod was touched: %v", now.ObjectMeta)
	}
}
