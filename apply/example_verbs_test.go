package apply_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"

	"coapply.dev/apply"
)

// Look before an apply: nothing is written.
func ExampleApplier_Plan() {
	ours := entry("example-workload", "Apply", "", `{"f:spec":{"f:minReadySeconds":{},"f:replicas":{}}}`)
	applier := exampleApplier(apply.Policy{}, ours)

	plan, err := applier.Plan(context.Background(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3)),
	})
	fmt.Println(plan.Action, err)
	for _, change := range plan.Changes {
		fmt.Println(change)
	}
	for _, dropped := range plan.Dropped {
		fmt.Println("given up:", dropped.Path)
	}
	// Output:
	// Configured <nil>
	// .spec.replicas: 5 -> 3
	// given up: .spec.minReadySeconds
}

// A status is an intent for a subresource. Its condition has been True before, and
// keeps the time since when.
func ExampleConditions() {
	since := metav1.Unix(1_000_000_000, 0)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	applier := exampleApplier(apply.Policy{})
	if err := applier.Client().Create(context.Background(), service); err != nil {
		panic(err)
	}
	service.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", LastTransitionTime: since}} // as it was read

	ready := metav1.Condition{Type: "Ready", Status: "True", Reason: "Serving", Message: "3 pods"}
	conditions := apply.Conditions(service.Status.Conditions, metav1.Now(), ready)
	outcome, err := applier.Apply(context.Background(), apply.Intent{
		Config:      corev1ac.Service("web", "shop").WithStatus(corev1ac.ServiceStatus().WithConditions(conditions...)),
		Subresource: "status",
	})
	fmt.Println(outcome.Action, err)
	fmt.Println(*conditions[0].Message, conditions[0].LastTransitionTime.UTC())
	// Output:
	// Configured <nil>
	// 3 pods 2001-09-09 01:46:40 +0000 UTC
}
