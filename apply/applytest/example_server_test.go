package applytest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
)

// deployment is the intent of the reconciler under test.
func deployment(replicas int32) *appsv1ac.DeploymentApplyConfiguration {
	labels := map[string]string{"app": "web"}
	return appsv1ac.Deployment("web", "default").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas).
		WithSelector(metav1ac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(corev1ac.PodTemplateSpec().WithLabels(labels).
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("web").WithImage("nginx:1")))))
}

// isApply matches applies of a field manager.
func isApply(by string) func(applytest.Request) bool {
	return func(r applytest.Request) bool { return r.Verb == "apply" && r.FieldManager == by }
}

// TestConflict lets another field manager write between the read and the apply of the reconciler.
func TestConflict(t *testing.T) {
	s := applytest.NewServer(t)
	shop, err := apply.New(s, apply.Config{FieldManager: "shop", LiveReader: s, Policy: apply.OnConflict(apply.Reject)})
	if err != nil {
		t.Fatal(err)
	}
	s.Inject(applytest.Fault{Match: isApply("shop"), Times: 1, Before: func() {
		if err := s.Apply(t.Context(), deployment(5), client.FieldOwner("hpa")); err != nil {
			t.Error(err)
		}
	}})

	_, err = shop.Apply(t.Context(), apply.Intent{Config: deployment(2)})

	conflict := (*apply.ConflictError)(nil)
	if !errors.As(err, &conflict) || conflict.Conflicts[0].Path.String() != ".spec.replicas" {
		t.Fatalf("%v, want a conflict about .spec.replicas", err)
	}
}

// TestLostAnswer loses the answer to an apply that landed. The Applier repeats the apply, which changes nothing.
func TestLostAnswer(t *testing.T) {
	s := applytest.NewServer(t)
	shop, err := apply.New(s, apply.Config{FieldManager: "shop", LiveReader: s})
	if err != nil {
		t.Fatal(err)
	}
	applies := 0
	s.Inject(applytest.Fault{Match: func(r applytest.Request) bool {
		if isApply("shop")(r) {
			applies++
		}
		return false
	}})
	s.Inject(applytest.Fault{Match: isApply("shop"), Times: 1, LoseAnswer: true})

	outcome, err := shop.Apply(t.Context(), apply.Intent{Config: deployment(2)})

	if err != nil || outcome.Object.ResourceVersion == "" || applies != 2 {
		t.Fatalf("%+v, %v after %d applies; want the version that landed, after 2", outcome, err, applies)
	}
}

// TestStaleCache reconciles with a cache that is two writes behind.
func TestStaleCache(t *testing.T) {
	s := applytest.NewServer(t)
	if err := s.Apply(t.Context(), deployment(1), client.FieldOwner("shop")); err != nil {
		t.Fatal(err)
	}
	informers := applytest.StartCache(t, s, &appsv1.Deployment{})
	s.HoldEvents()
	for _, replicas := range []int32{2, 3} {
		if err := s.Apply(t.Context(), deployment(replicas), client.FieldOwner("shop")); err != nil {
			t.Fatal(err)
		}
	}
	if got := cached(t, informers); got != 1 {
		t.Fatalf("%d replicas in the cache, want 1", got)
	}
	s.ReleaseAllEvents()
	for range 10000 { // until the events have come
		if cached(t, informers) == 3 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the cache does not get the events that were released")
}

func cached(t *testing.T, reader client.Reader) int32 {
	t.Helper()
	object := &appsv1.Deployment{}
	if err := reader.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: "web"}, object); err != nil {
		t.Fatal(err)
	}
	return *object.Spec.Replicas
}
