package faults

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/breaker"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestForcedTenTimesASecond has a neighbour force a field of ours ten times a second, with the times that the platform has:
// it is named in the condition, ours lets go, and everything else of the Devbox goes on.
func TestForcedTenTimesASecond(t *testing.T) {
	once(t)
	t.Parallel()
	create := devboxes()[0]
	w := create.begin(t, func(w *world) {
		var err error
		if w.Breaker, err = breaker.New(breaker.Config{}); err != nil {
			t.Fatal(err)
		}
	})
	create.does.do(w)
	w.becomes("the Devbox runs", func() string { return create.does.done(w) })
	w.Quiet(t, quiet)
	began := len(w.Writes.About("/deployments/x"))
	ctx, stop := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		for tick := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			_ = w.Client.Apply(ctx, kit.Replicas("x", w.Namespace, 3), client.FieldOwner("neighbour"), client.ForceOwnership)
		}
	}()
	defer func() { stop(); <-stopped }()
	waitForCondition(t, w.Platform, &v1alpha1.Devbox{}, "x", "Contended", metav1.ConditionTrue,
		"OwnershipFight", ".spec.replicas of Deployment", "coapply-devbox-power", "neighbour/Apply")
	w.patch(emptyDevbox(), `{"spec":{"image":"registry.example.com/dev:2"}}`)
	kit.WaitFor(t, "the image lands all the same", func() string {
		deployment := w.Platform.Get(t, "x", &appsv1.Deployment{}).(*appsv1.Deployment)
		return strings.TrimSuffix(deployment.Spec.Template.Spec.Containers[0].Image, "registry.example.com/dev:2")
	})
	until := len(w.Writes.About("/deployments/x")) - began
	after := writesIn(t, w.Platform, lasts, "/deployments/x")
	count(t, "%d writes of ours until it was named, %d in %v after that", until, after, lasts)
	if until > 40 || after > 1 {
		t.Errorf("%d writes until it was named, want 40 at most; %d in %v after that, want 1 at most", until, after, lasts)
	}
}
