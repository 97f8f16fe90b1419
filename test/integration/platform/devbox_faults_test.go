package platform

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
	"coapply.dev/test/kit"
)

// patchStatus writes as somebody who is no reconciler of ours.
func patchStatus(t *testing.T, p *kit.Platform, object client.Object, name, body string) {
	t.Helper()
	p.Patch(t, object, name, body, client.FieldOwner("content-keeper"))
}

func waitUntilGone(t *testing.T, p *kit.Platform, name string) {
	t.Helper()
	kit.WaitFor(t, name+" is gone", func() string {
		var box v1alpha1.Devbox
		err := p.Client.Get(t.Context(), client.ObjectKey{Namespace: p.Namespace, Name: name}, &box)
		if !apierrors.IsNotFound(err) {
			return fmt.Sprintf("%v, finalizers %v", err, box.Finalizers)
		}
		if pods := pods(t, p, name); len(pods) > 0 {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
}

func deleteObject(t *testing.T, p *kit.Platform, object client.Object, opts ...client.DeleteOption) {
	t.Helper()
	if err := p.Client.Delete(t.Context(), object, opts...); err != nil {
		t.Fatal(err)
	}
}

// running starts a platform with one Devbox, and returns its pod.
func running(t *testing.T) (*kit.Platform, corev1.Pod) {
	t.Helper()
	return runningAs(t, kit.Cluster(t).Config())
}

func runningAs(t *testing.T, manager *rest.Config) (*kit.Platform, corev1.Pod) {
	t.Helper()
	p := kit.StartPlatformAs(t, manager, apply.Force)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	return p, pods(t, p, "box")[0]
}

func TestChildrenDeletedByHand(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	deployment := p.Get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment)
	service := p.Get(t, "box", &corev1.Service{}).(*corev1.Service)
	deleteObject(t, p, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))
	deleteObject(t, p, service)
	waitForAnotherPod(t, p, "box", pod)
	kit.WaitFor(t, "power owns the replicas again", func() string {
		owners := kit.OwnersOf(t, p.Client, p.Namespace, "box", ".spec.replicas")
		if !cmp.Equal(owners, []string{"coapply-devbox-power/Apply"}) {
			return fmt.Sprint(owners)
		}
		return ""
	})
	kit.WaitFor(t, "another Service", func() string {
		var again corev1.Service
		if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(service), &again); err != nil || again.UID == service.UID {
			return fmt.Sprint("none: ", err)
		}
		return ""
	})
	p.Quiet(t, time.Second)
}

// TestOwnerReferenceLost: it comes back, and the object was ours all the while.
func TestOwnerReferenceLost(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		p.Patch(t, object, "box", `{"metadata":{"ownerReferences":null}}`)
		kit.WaitFor(t, "the owner reference is back", func() string {
			if metav1.GetControllerOf(p.Get(t, "box", object)) == nil {
				return fmt.Sprintf("not on %T", object)
			}
			return ""
		})
	}
	set(t, p, "box", v1alpha1.DevboxStopped)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	p.Quiet(t, time.Second)
	if box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox); kit.UnlessApplied(box) != "" {
		t.Error(kit.UnlessApplied(box))
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":"true"}}}`)
	p.Quiet(t, time.Second)
	set(t, p, "box", v1alpha1.DevboxStopped)
	if sent := p.Quiet(t, time.Second); len(sent) > 0 {
		t.Errorf("written while paused: %v", sent)
	}
	if n := podReplicas(t, p); n != 1 {
		t.Errorf("%d replicas while paused", n)
	}
	p.Patch(t, &v1alpha1.Devbox{}, "box", `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":null}}}`)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
}

func TestDevboxCreatedStopped(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	box := p.Create(t, "box", func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxStopped })
	kit.WaitFor(t, "stopped without replicas", func() string {
		p.Get(t, "box", box)
		if box.Status.Phase != v1alpha1.PhaseStopped || kit.UnlessApplied(box) != "" {
			return string(box.Status.Phase) + kit.UnlessApplied(box)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(box), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v; what is not to run must not, not even for a moment", err)
	}
	set(t, p, "box", v1alpha1.DevboxRunning)
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	set(t, p, "box", v1alpha1.DevboxStopped)
	waitForPhase(t, p, "box", v1alpha1.PhaseStopped)
	p.Quiet(t, time.Second)
	if n := podReplicas(t, p); n != 0 {
		t.Errorf("%d replicas", n)
	}
	p.Get(t, "box", box)
	// Deleted while Stopped, and another manager holds it.
	p.Patch(t, box, "box", fmt.Sprintf(`{"metadata":{"finalizers":[%q,"example.com/other"]}}`, devbox.Finalizer))
	deleteObject(t, p, box)
	kit.WaitFor(t, "only the other's finalizer is left", func() string {
		if p.Get(t, "box", box); !cmp.Equal(box.Finalizers, []string{"example.com/other"}) {
			return fmt.Sprint(box.Finalizers)
		}
		return ""
	})
	p.Quiet(t, time.Second)
	if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(box), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v; nothing must be emitted for a Devbox being deleted", err)
	}
	p.Patch(t, box, "box", `{"metadata":{"finalizers":null}}`)
	waitUntilGone(t, p, "box")
}

// TestDevboxDeletedWhilePending has a pod that no node can take.
func TestDevboxDeletedWhilePending(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Force)
	box := p.Create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: kit.Quantity("100000")}
	})
	kit.WaitFor(t, "a pod without a node", func() string {
		if pods := pods(t, p, "box"); len(pods) != 1 || pods[0].Spec.NodeName != "" {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	waitForPhase(t, p, "box", v1alpha1.PhasePending)
	deleteObject(t, p, box)
	waitUntilGone(t, p, "box")
	p.Quiet(t, time.Second)
}

// TestDevboxDeletedWithAnOrphanedReplicaSet, which replaces every pod that goes. The manager may delete ReplicaSets and not
// watch them, and does not try.
func TestDevboxDeletedWithAnOrphanedReplicaSet(t *testing.T) {
	t.Parallel()
	manager := kit.AsManager(t, kit.NewClient(t, kit.Cluster(t).Config()), kit.Cluster(t).Config())
	var watched atomic.Int32
	manager.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if strings.HasSuffix(request.URL.Path, "/replicasets") && request.URL.Query().Has("watch") {
				watched.Add(1)
			}
			return next.RoundTrip(request)
		})
	})
	p, _ := runningAs(t, manager)
	box := &v1alpha1.Devbox{}
	pause := func(value string) {
		p.Patch(t, box, "box", fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, reconciler.PausedAnnotation, value))
	}
	pause(`"true"`) // or the Deployment would come back and adopt it
	p.Quiet(t, time.Second)
	deployment := p.Get(t, "box", &appsv1.Deployment{})
	deleteObject(t, p, deployment, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	var sets appsv1.ReplicaSetList
	kit.WaitFor(t, "the ReplicaSet is an orphan", func() string {
		err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(deployment), &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the Deployment: %v", err)
		}
		if err := p.Client.List(t.Context(), &sets, client.InNamespace(p.Namespace)); err != nil {
			t.Fatal(err)
		}
		return ""
	})
	if len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets, want the orphan", len(sets.Items))
	}
	deleteObject(t, p, box)
	pause("null")
	waitUntilGone(t, p, "box")
	p.Quiet(t, time.Second)
	if n := watched.Load(); n > 0 {
		t.Errorf("ReplicaSets were to be watched %d times", n)
	}
}

// failPods has the release of pods fail, as if the manager died before it.
func failPods(config *rest.Config, broken *atomic.Bool, failed *atomic.Int32) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return kit.RoundTripper(func(request *http.Request) (*http.Response, error) {
			if broken.Load() && request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/pods/") {
				failed.Add(1)
				return nil, errors.New("connection refused")
			}
			return next.RoundTrip(request)
		})
	})
	return config
}
