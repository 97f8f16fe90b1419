package integration

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

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/devbox"
)

// waitForAnotherPod waits until the Devbox has one pod, running, and not that one.
func (p *platform) waitForAnotherPod(t *testing.T, name string, old corev1.Pod) {
	t.Helper()
	waitFor(t, "another pod runs alone", func() string {
		pods := p.pods(t, name)
		if len(pods) != 1 || pods[0].UID == old.UID || pods[0].Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	p.waitForPhase(t, name, v1alpha1.PhaseRunning)
}

func wantLast(t *testing.T, box *v1alpha1.Devbox, of corev1.Pod) {
	t.Helper()
	last := box.Status.LastContainerStatus
	if last == nil || last.ContainerID == "" || last.ContainerID != of.Status.ContainerStatuses[0].ContainerID {
		t.Errorf("lastContainerStatus is %v, want that of %s", last, of.Status.ContainerStatuses[0].ContainerID)
	}
}

func podReplicas(t *testing.T, p *platform) int32 {
	t.Helper()
	return *p.get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment).Spec.Replicas
}

func TestPodDeletedByForce(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	kubectl(t, "delete", "pod", "--namespace", p.namespace, pod.Name, "--grace-period=0", "--force", "--wait=false")
	p.waitForAnotherPod(t, "box", pod)
	wantLast(t, p.get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox), pod)
	p.quiet(t, time.Second)
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
			p.patchStatus(t, &corev1.Pod{}, pod.Name, fmt.Sprintf(`{"status":{"phase":%q}}`, test.phase))
			var box v1alpha1.Devbox
			waitFor(t, "its last status stands, the pod is released and another runs", func() string {
				p.get(t, "box", &box)
				others := 0
				for _, other := range p.pods(t, "box") {
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
			wantLast(t, &box, pod)
			p.set(t, "box", test.then)
			p.waitForPhase(t, "box", test.want)
			p.quiet(t, time.Second)
			if left := len(p.pods(t, "box")); left > test.left {
				t.Errorf("%d pods are left, want at most %d", left, test.left)
			}
			p.delete(t, &box)
			p.waitUntilGone(t, "box")
		})
	}
}

// TestShutdownWhileStopping: what holds a pod that ends gracefully is another's
// finalizer, so that the Shutdown finds it.
func TestShutdownWhileStopping(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	p.patch(t, &corev1.Pod{}, pod.Name, fmt.Sprintf(`{"metadata":{"finalizers":[%q,"example.com/other"]}}`, devbox.PodFinalizer))
	p.set(t, "box", v1alpha1.DevboxStopped)
	p.waitForPhase(t, "box", v1alpha1.PhaseStopping)
	p.set(t, "box", v1alpha1.DevboxShutdown)
	waitFor(t, "our finalizer is off", func() string {
		if pods := p.pods(t, "box"); len(pods) != 1 || !cmp.Equal(pods[0].Finalizers, []string{"example.com/other"}) {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	p.quiet(t, time.Second) // and no deletion is repeated for ever
	p.patch(t, &corev1.Pod{}, pod.Name, `{"metadata":{"finalizers":null}}`)
	p.waitForPhase(t, "box", v1alpha1.PhaseShutdown)
	wantLast(t, p.get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox), pod)
}

// TestManagerDiesBeforeThePodsRelease: the status was written first, so that
// nothing is lost.
func TestManagerDiesBeforeThePodsRelease(t *testing.T) {
	t.Parallel()
	config := cluster(t).Config()
	p := &platform{client: newClient(t, config), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	var broken atomic.Bool
	var failed atomic.Int32
	stop := p.run(t, failPods(config, &broken, &failed), apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	pod := p.pods(t, "box")[0]
	broken.Store(true)
	p.set(t, "box", v1alpha1.DevboxStopped)
	waitFor(t, "a release was tried", func() string {
		if failed.Load() == 0 {
			return "none"
		}
		return ""
	})
	stop()
	wantLast(t, p.get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox), pod)
	if pods := p.pods(t, "box"); len(pods) != 1 {
		t.Fatalf("%d pods; it must be kept", len(pods))
	}
	p.run(t, config, apply.Force)
	wantLast(t, p.waitForPhase(t, "box", v1alpha1.PhaseStopped), pod)
	if pods := p.pods(t, "box"); len(pods) != 0 {
		t.Errorf("%d pods are left", len(pods))
	}
	p.quiet(t, time.Second)
}

// TestPodReplacedBeforeItsRelease: what has the pod's name when the release goes
// out is another one, with the finalizer and the label, and is left alone.
func TestPodReplacedBeforeItsRelease(t *testing.T) {
	t.Parallel()
	config := cluster(t).Config()
	p := &platform{client: newClient(t, config), writes: &writeLog{}, applies: &applyLog{}}
	p.namespace = newNamespace(t, p.client)
	var first atomic.Bool
	replaced := make(chan struct{})
	var other corev1.Pod // until replaced is closed, its writer's alone
	replace := func(ctx context.Context, name string) error {
		key := client.ObjectKey{Namespace: p.namespace, Name: name}
		var old corev1.Pod
		if err := p.client.Get(ctx, key, &old); err != nil {
			return err
		}
		off := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
		if err := p.client.Patch(ctx, &old, off); err != nil {
			return err
		}
		if err := p.client.Delete(ctx, &old, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			return err
		}
		other = corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: p.namespace, Name: name,
				Labels:     map[string]string{devbox.Label: "box"},
				Finalizers: []string{devbox.PodFinalizer},
			},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.example.com/other:1"}}},
		}
		return p.client.Create(ctx, &other)
	}
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
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
	p.run(t, wrapped, apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	p.set(t, "box", v1alpha1.DevboxStopped)
	waitFor(t, "the pod is replaced", func() string {
		select {
		case <-replaced:
			return ""
		default:
			return "not yet"
		}
	})
	p.quiet(t, time.Second)
	var now corev1.Pod
	if p.get(t, other.Name, &now); now.UID != other.UID || !cmp.Equal(now.Finalizers, other.Finalizers) || now.DeletionTimestamp != nil {
		t.Errorf("the other pod was touched: %v", now.ObjectMeta)
	}
}
