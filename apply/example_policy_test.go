package apply_test

import (
	"context"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
)

// A policy by field, by who the other owner is, and by a function, checked against
// the kind that it is for.
func ExamplePolicy() {
	policy := apply.OnConflict(apply.Reject).
		At(".spec.replicas", apply.Relinquish).
		At(`.metadata.annotations["example.com/note"]`, apply.Share).
		When(apply.Match{Path: ".spec.template", Manager: "kubectl-edit"}, apply.Force).
		When(apply.Match{Manager: "manager", Operation: metav1.ManagedFieldsOperationUpdate}, apply.Force).
		Func(func(conflict apply.Conflict) (apply.Decision, bool) {
			return apply.Force, conflict.Manager.Name == "before-first-apply" // else the rules decide
		})
	c := exampleClient()
	_, err := apply.New(c, apply.Config{FieldManager: "example-workload", LiveReader: c, Policy: policy})
	fmt.Println(err)

	deployment := reflect.TypeFor[appsv1.Deployment]()
	fmt.Println(policy.At(".spec.replica", apply.Force).CheckPaths(deployment))
	// Output:
	// <nil>
	// policy: the field .spec.replica does not exist: v1.DeploymentSpec has no field "replica"
}

// Replicas are left to whoever else owns them. From the second time on that costs no
// conflict: what gave way is remembered until the other owner lets go.
func ExampleApplier_Apply_relinquish() {
	applier := exampleApplier(apply.OnConflict(apply.Reject).At(".spec.replicas", apply.Relinquish))

	for range 2 {
		outcome, err := applier.Apply(context.Background(), apply.Intent{
			Config: appsv1ac.Deployment("web", "shop").
				WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithMinReadySeconds(10)),
		})
		fmt.Println(outcome.Action, outcome.Requests, err)
		for _, conflict := range outcome.Conflicts {
			fmt.Println(conflict.Decision, conflict, conflict.Remembered)
		}
	}
	// Output:
	// Configured 3 <nil>
	// Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with value 5 false
	// Unchanged 2 <nil>
	// Relinquish .spec.replicas to 3: owned by hpa/Update[scale] with value 5 true
}

// A shared field has the value of its other owner, and does not go when that one
// drops it.
func ExampleApplier_Apply_share() {
	applier := exampleApplier(apply.OnConflict(apply.Share))

	outcome, err := applier.Apply(context.Background(), apply.Intent{
		Config: appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3)),
	})
	fmt.Println(outcome.Action, err)
	for _, conflict := range outcome.Conflicts {
		fmt.Println(conflict.Decision, conflict.Path, "both own", conflict.Theirs)
	}
	// Output:
	// Configured <nil>
	// Share .spec.replicas both own 5
}
