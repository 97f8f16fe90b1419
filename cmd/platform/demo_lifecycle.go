package main

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/devbox"
)

func (d *demonstration) stopAndRun(ctx context.Context) {
	d.show.step("Stopped, and Running again",
		"The pod is terminated gracefully. A finalizer keeps the pod until the Devbox's",
		"status has the last status of its container.")
	d.setState(ctx, "alpha", v1alpha1.DevboxStopped)
	box := d.waitFor(ctx, "alpha", "the Devbox has stopped", phaseIs(v1alpha1.PhaseStopped))
	last := box.Status.LastContainerStatus
	if last == nil || last.State.Terminated == nil {
		fail("status.lastContainerStatus of Devbox alpha is %v, want a terminated container", last)
	}
	d.show.print(fmt.Sprintf("phase: %s\nlastContainerStatus: %s ended with exit code %d (%s)",
		box.Status.Phase, last.Name, last.State.Terminated.ExitCode, last.State.Terminated.Reason))
	d.noPods(ctx, "alpha")
	d.show.ok("no pod is left, and the Devbox has the last container status")
	d.setState(ctx, "alpha", v1alpha1.DevboxRunning)
	d.waitFor(ctx, "alpha", "the Devbox runs again", settled)
	d.show.ok("the Devbox runs again")
}

func (d *demonstration) shutdown(ctx context.Context) {
	d.show.step("Shutdown",
		"Like Stopped, but the pod is deleted at once.")
	d.setState(ctx, "beta", v1alpha1.DevboxShutdown)
	d.waitFor(ctx, "beta", "the Devbox is shut down", phaseIs(v1alpha1.PhaseShutdown))
	d.noPods(ctx, "beta")
	d.kubectl(ctx, "get", "devboxes")
	d.show.ok("no pod is left")
}

func (d *demonstration) deletion(ctx context.Context) {
	d.show.step("Deletion, with finalizers",
		"A finalizer keeps the Devbox until its Deployment and pods are deleted. The",
		"garbage collector deletes the Service.")
	box := &v1alpha1.Devbox{}
	check(d.platform.client.Get(ctx, client.ObjectKey{Namespace: "default", Name: "gamma"}, box))
	d.show.print("finalizers of the Devbox: " + strings.Join(box.Finalizers, ", "))
	pods := d.pods(ctx, "gamma")
	for _, pod := range pods {
		d.show.print("finalizers of its pod:    " + strings.Join(pod.Finalizers, ", "))
	}
	if len(pods) != 1 || len(pods[0].Finalizers) == 0 || len(box.Finalizers) == 0 {
		fail("Devbox gamma has %d pods, want one pod, with finalizers on the pod and on the Devbox", len(pods))
	}
	check(d.platform.client.Delete(ctx, box))
	until(ctx, "the Devbox is gone", func(ctx context.Context) (string, error) {
		err := d.platform.client.Get(ctx, client.ObjectKeyFromObject(box), box)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return strings.Join(box.Finalizers, ", "), err
	})
	if err := d.platform.client.Get(ctx, client.ObjectKeyFromObject(box), &appsv1.Deployment{}); !apierrors.IsNotFound(err) {
		fail("Devbox gamma was deleted before its Deployment, want the opposite order; result of reading the Deployment: %v", err)
	}
	d.noPods(ctx, "gamma")
	d.show.ok("first the Deployment and the pod were deleted, then the Devbox")
}

func (d *demonstration) pods(ctx context.Context, name string) []corev1.Pod {
	var pods corev1.PodList
	check(d.platform.client.List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{devbox.Label: name}))
	return pods.Items
}

func (d *demonstration) noPods(ctx context.Context, name string) {
	if pods := d.pods(ctx, name); len(pods) > 0 {
		fail("%d pods of Devbox %s still exist, for example %s; want no pod", len(pods), name, pods[0].Name)
	}
}
