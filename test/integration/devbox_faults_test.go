package integration

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

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
	"coapply.dev/internal/controller/devbox"
)

func (p *platform) patch(t *testing.T, object client.Object, name, body string, opts ...client.SubResourcePatchOption) {
	t.Helper()
	object.SetNamespace(p.namespace)
	object.SetName(name)
	patch := client.RawPatch("application/merge-patch+json", []byte(body))
	var err error
	if len(opts) > 0 {
		err = p.client.Status().Patch(t.Context(), object, patch, opts...)
	} else {
		err = p.client.Patch(t.Context(), object, patch, client.FieldOwner("person"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// patchStatus writes as somebody who is no reconciler of ours.
func (p *platform) patchStatus(t *testing.T, object client.Object, name, body string) {
	t.Helper()
	p.patch(t, object, name, body, client.FieldOwner("content-keeper"))
}

func (p *platform) waitUntilGone(t *testing.T, name string) {
	t.Helper()
	waitFor(t, name+" is gone", func() string {
		var box v1alpha1.Devbox
		err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: name}, &box)
		if !apierrors.IsNotFound(err) {
			return fmt.Sprintf("%v, finalizers %v", err, box.Finalizers)
		}
		if pods := p.pods(t, name); len(pods) > 0 {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
}

func (p *platform) delete(t *testing.T, object client.Object, opts ...client.DeleteOption) {
	t.Helper()
	if err := p.client.Delete(t.Context(), object, opts...); err != nil {
		t.Fatal(err)
	}
}

// running starts a platform with one Devbox, and gives its pod.
func running(t *testing.T) (*platform, corev1.Pod) {
	t.Helper()
	p := startPlatform(t, apply.Force)
	p.create(t, "box")
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	return p, p.pods(t, "box")[0]
}

func TestChildrenDeletedByHand(t *testing.T) {
	t.Parallel()
	p, pod := running(t)
	deployment := p.get(t, "box", &appsv1.Deployment{}).(*appsv1.Deployment)
	service := p.get(t, "box", &corev1.Service{}).(*corev1.Service)
	p.delete(t, deployment, client.PropagationPolicy(metav1.DeletePropagationBackground))
	p.delete(t, service)
	p.waitForAnotherPod(t, "box", pod)
	waitFor(t, "power owns the replicas again", func() string {
		owners := ownersOf(t, p.client, p.namespace, "box", ".spec.replicas")
		if !cmp.Equal(owners, []string{"coapply-devbox-power/Apply"}) {
			return fmt.Sprint(owners)
		}
		return ""
	})
	waitFor(t, "another Service", func() string {
		var again corev1.Service
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(service), &again); err != nil || again.UID == service.UID {
			return fmt.Sprint("none: ", err)
		}
		return ""
	})
	p.quiet(t, time.Second)
}

// TestOwnerReferenceLost: it comes back, and the object was ours all the while.
func TestOwnerReferenceLost(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	for _, object := range []client.Object{&appsv1.Deployment{}, &corev1.Service{}} {
		p.patch(t, object, "box", `{"metadata":{"ownerReferences":null}}`)
		waitFor(t, "the owner reference is back", func() string {
			if metav1.GetControllerOf(p.get(t, "box", object)) == nil {
				return fmt.Sprintf("not on %T", object)
			}
			return ""
		})
	}
	p.set(t, "box", v1alpha1.DevboxStopped)
	p.waitForPhase(t, "box", v1alpha1.PhaseStopped)
	p.quiet(t, time.Second)
	if box := p.get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox); unlessApplied(box) != "" {
		t.Error(unlessApplied(box))
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	p.patch(t, &v1alpha1.Devbox{}, "box", `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":"true"}}}`)
	p.quiet(t, time.Second)
	p.set(t, "box", v1alpha1.DevboxStopped)
	if sent := p.quiet(t, time.Second); len(sent) > 0 {
		t.Errorf("written while paused: %v", sent)
	}
	if n := podReplicas(t, p); n != 1 {
		t.Errorf("%d replicas while paused", n)
	}
	p.patch(t, &v1alpha1.Devbox{}, "box", `{"metadata":{"annotations":{"`+reconciler.PausedAnnotation+`":null}}}`)
	p.waitForPhase(t, "box", v1alpha1.PhaseStopped)
}

func TestDevboxCreatedStopped(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	box := p.create(t, "box", func(b *v1alpha1.Devbox) { b.Spec.State = v1alpha1.DevboxStopped })
	waitFor(t, "stopped without replicas", func() string {
		p.get(t, "box", box)
		if box.Status.Phase != v1alpha1.PhaseStopped || unlessApplied(box) != "" {
			return string(box.Status.Phase) + unlessApplied(box)
		}
		return ""
	})
	p.quiet(t, time.Second)
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(box), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v; what is not to run must not, not even for a moment", err)
	}
	p.set(t, "box", v1alpha1.DevboxRunning)
	p.waitForPhase(t, "box", v1alpha1.PhaseRunning)
	p.set(t, "box", v1alpha1.DevboxStopped)
	p.waitForPhase(t, "box", v1alpha1.PhaseStopped)
	p.quiet(t, time.Second)
	if n := podReplicas(t, p); n != 0 {
		t.Errorf("%d replicas", n)
	}
	p.get(t, "box", box)
	// Deleted while Stopped, and another manager holds it.
	p.patch(t, box, "box", fmt.Sprintf(`{"metadata":{"finalizers":[%q,"example.com/other"]}}`, devbox.Finalizer))
	p.delete(t, box)
	waitFor(t, "only the other's finalizer is left", func() string {
		if p.get(t, "box", box); !cmp.Equal(box.Finalizers, []string{"example.com/other"}) {
			return fmt.Sprint(box.Finalizers)
		}
		return ""
	})
	p.quiet(t, time.Second)
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(box), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v; nothing must be emitted for a Devbox being deleted", err)
	}
	p.patch(t, box, "box", `{"metadata":{"finalizers":null}}`)
	p.waitUntilGone(t, "box")
}

// TestDevboxDeletedWhilePending has a pod that no node can take.
func TestDevboxDeletedWhilePending(t *testing.T) {
	t.Parallel()
	p := startPlatform(t, apply.Force)
	box := p.create(t, "box", func(b *v1alpha1.Devbox) {
		b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: quantity("100000")}
	})
	waitFor(t, "a pod without a node", func() string {
		if pods := p.pods(t, "box"); len(pods) != 1 || pods[0].Spec.NodeName != "" {
			return fmt.Sprintf("%d pods", len(pods))
		}
		return ""
	})
	p.waitForPhase(t, "box", v1alpha1.PhasePending)
	p.delete(t, box)
	p.waitUntilGone(t, "box")
	p.quiet(t, time.Second)
}

// TestDevboxDeletedWithAnOrphanedReplicaSet, which replaces every pod that goes.
func TestDevboxDeletedWithAnOrphanedReplicaSet(t *testing.T) {
	t.Parallel()
	p, _ := running(t)
	box := &v1alpha1.Devbox{}
	pause := func(value string) {
		p.patch(t, box, "box", fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, reconciler.PausedAnnotation, value))
	}
	pause(`"true"`) // or the Deployment would come back and adopt it
	p.quiet(t, time.Second)
	deployment := p.get(t, "box", &appsv1.Deployment{})
	p.delete(t, deployment, client.PropagationPolicy(metav1.DeletePropagationOrphan))
	var sets appsv1.ReplicaSetList
	waitFor(t, "the ReplicaSet is an orphan", func() string {
		err := p.client.Get(t.Context(), client.ObjectKeyFromObject(deployment), &appsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			return fmt.Sprintf("the Deployment: %v", err)
		}
		if err := p.client.List(t.Context(), &sets, client.InNamespace(p.namespace)); err != nil {
			t.Fatal(err)
		}
		return ""
	})
	if len(sets.Items) != 1 {
		t.Fatalf("%d ReplicaSets, want the orphan", len(sets.Items))
	}
	p.delete(t, box)
	pause("null")
	p.waitUntilGone(t, "box")
	p.quiet(t, time.Second)
}

// failPods has the release of pods fail, as if the manager died before it.
func failPods(config *rest.Config, broken *atomic.Bool, failed *atomic.Int32) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			if broken.Load() && request.Method == http.MethodPut && strings.Contains(request.URL.Path, "/pods/") {
				failed.Add(1)
				return nil, errors.New("connection refused")
			}
			return next.RoundTrip(request)
		})
	})
	return config
}
