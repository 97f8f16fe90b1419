package applytest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/applytest"
	"coapply.dev/fieldowners"
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

// reconcile is the other half: when to come back.
func reconcile(ctx context.Context, applier *apply.Applier, sleeping bool) (again time.Duration, err error) {
	for _, intent := range emit(sleeping) {
		_, err := applier.Apply(ctx, intent)
		retryable, later := errors.AsType[*apply.RetryableError](err)
		switch {
		case later:
			again = retryable.After
		case errors.Is(err, apply.ErrConflict):
			again = time.Minute // nothing heals it at once
		case err != nil:
			return 0, err
		}
	}
	return again, nil
}

// A reconciler whose intents are held by a golden file, and which meets a rival
// and then a server that asks to wait. In a test, t is its *testing.T.
func Example() {
	t := newExampleT()
	defer t.end()

	applytest.Golden(t, "testdata/sleeping.yaml", emit(true)...)

	applies := applytest.Call{Verb: applytest.VerbApply, Kind: "Deployment"}
	c := applytest.Inject(t, fakeClient(),
		applytest.Fault{Call: applies, Answer: applytest.OwnershipConflict(fieldowners.Manager{Name: "hpa"}, ".spec.replicas")},
		applytest.Fault{Call: applies, Answer: applytest.TooManyRequests(7 * time.Second)})
	applier, err := apply.New(c, apply.Config{FieldManager: "example-power", LiveReader: c})
	if err != nil {
		panic(err)
	}
	for range 2 {
		fmt.Println(reconcile(context.Background(), applier, true))
	}
	fmt.Println(c.Given(), "faults")
	// Output:
	// 1m0s <nil>
	// 7s <nil>
	// 2 faults
}

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
	// example-power emits .spec.replicas of Deployment.apps, which its contract does not let it apply: add the path to Applies, or leave the field out
	// example-power claims .metadata.labels of Deployment.apps and emits nothing of it: take it out of Applies, or add a parent that shows it
}

// A force takes a field with three applies, one of them forced, and a read that
// they are judged by.
func ExampleRecorder() {
	recorder := applytest.NewRecorder()
	config := exampleConfig() // such as envtest's
	config.Wrap(recorder.Wrap)
	c := newExampleClient(config)

	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-power", LiveReader: c, Policy: apply.OnConflict(apply.Force),
	})
	if err != nil {
		panic(err)
	}
	again, err := reconcile(context.Background(), applier, true)
	fmt.Println(again, err)
	fmt.Println(recorder.Count(applytest.Request{Verb: applytest.VerbApply, Class: applytest.ClassConflict}), "conflicts")
	fmt.Print(recorder)
	// Output:
	// 0s <nil>
	// 2 conflicts
	// COUNT  VERB           RESOURCE          CLASS
	// 2      get            deployments.apps  Success
	// 2      apply          deployments.apps  Conflict
	// 1      apply, forced  deployments.apps  Success
}

// A fault that does not happen fails the test: it proves nothing.
func ExampleInject() {
	t := newExampleT()
	c := applytest.Inject(t, fakeClient(), applytest.Fault{
		Call:   applytest.Call{Verb: applytest.VerbApply, Kind: "Service"},
		Answer: applytest.TooManyRequests(time.Second),
		Times:  2,
	})
	applier, err := apply.New(c, apply.Config{FieldManager: "example-power", LiveReader: c})
	if err != nil {
		panic(err)
	}
	fmt.Println(reconcile(context.Background(), applier, true)) // a conflict of the fake client's own, on a Deployment
	t.end()
	fmt.Println(t.failures[0])
	// Output:
	// 1m0s <nil>
	// applytest: a fault did not happen: TooManyRequests for apply Service: given 0 times of 2, 0 calls matched; the calls that were made:
	//   get Deployment shop/web ×2
	//   apply Deployment shop/web
}
