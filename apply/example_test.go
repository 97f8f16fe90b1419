package apply_test

import (
	"context"
	"errors"
	"fmt"

	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// A policy that takes one field and rejects all other conflicts.
func ExampleApplier_Apply() {
	c := exampleClient()
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-autoscaler",
		LiveReader:   c, // mgr.GetAPIReader()
		Policy:       apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Force),
	})
	if err != nil {
		panic(err)
	}

	outcome, err := applier.Apply(context.Background(), apply.Intent{
		Config:    appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3)),
		MustExist: true,
	})
	fmt.Println(err)
	fmt.Println(outcome.Object, outcome.Requests, "requests")
	for _, conflict := range outcome.Conflicts {
		fmt.Println(conflict.Decision, conflict)
	}
	// Output:
	// <nil>
	// Deployment shop/web 5 requests
	// Force .spec.replicas to 3: owned by hpa/Update[scale] with value 5
}

// The zero Policy rejects. The error says who is in the way; it is not retried.
func ExampleConflictError() {
	c := exampleClient()
	applier, err := apply.New(c, apply.Config{FieldManager: "example-autoscaler", LiveReader: c})
	if err != nil {
		panic(err)
	}

	_, err = applier.Apply(context.Background(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3)),
	})
	fmt.Println(err)

	if rejected, ok := errors.AsType[*apply.ConflictError](err); ok {
		for _, conflict := range rejected.Conflicts {
			fmt.Println(conflict.Manager.Name, "owns", conflict.Path, "with", conflict.Theirs, "where we want", conflict.Ours)
		}
	}
	// Output:
	// ownership conflict on Deployment shop/web: example-autoscaler cannot set .spec.replicas to 3: owned by hpa/Update[scale] with value 5; a retry would get the same conflict
	// hpa owns .spec.replicas with 5 where we want 3
}
