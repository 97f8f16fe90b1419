package applytest_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners/contract"
)

// emit is the pure half of a reconciler: what it wants of a deployment.
func emit(sleeping bool) []apply.Intent {
	replicas := int32(3)
	if sleeping {
		replicas = 0
	}
	return []apply.Intent{{
		Config:    appsv1ac.Deployment("web", "shop").WithSpec(appsv1ac.DeploymentSpec().WithReplicas(replicas)),
		MustExist: true,
	}}
}

// newExampleT stands for a test's *testing.T, which an example does not have.
func newExampleT() *testingT { return &testingT{} }

// The intents of a running deployment against a file of a sleeping one.
func ExampleGolden() {
	t := newExampleT()
	applytest.Golden(t, "testdata/sleeping.yaml", emit(false)...)
	fmt.Println(len(t.failures), "failure")
	// Output: 1 failure
}

// The contract forgets the replicas, and says labels that are not emitted.
func ExampleOwns() {
	t := newExampleT()
	all := contract.Contract{
		{Manager: "example-power", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{".metadata.labels"}},
	}
	applytest.Owns(t, all.Of("example-power"), func(sleeping bool) ([]apply.Intent, error) { return emit(sleeping), nil }, true, false)
	for _, failure := range t.failures {
		fmt.Println(failure)
	}
	// Output:
	// example-power emits .spec.replicas of Deployment.apps, but the contract does not allow this manager to apply the field: add the path to Applies, or do not emit the field
	// example-power claims .metadata.labels of Deployment.apps but emits no field at or below the path: remove the path from Applies or add parents whose intents set the path
}
