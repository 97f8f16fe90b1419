package applyset_test

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/applyset"
	"coapply.dev/test/kit/memory"
)

// What a parent emitted before and emits no longer is deleted, if the applier put it
// there.
func ExampleRound_Prune() {
	applier, parent := exampleSet() // the parent as the cache has it
	sets, err := applyset.New(applier)
	if err != nil {
		panic(err)
	}

	round := sets.Apply(context.Background(), parent, func() ([]apply.Intent, error) {
		return []apply.Intent{{Config: deployment("web")}}, nil
	})
	fmt.Println(round.Errs) // else nothing is pruned

	pruned, err := round.Prune(context.Background())
	fmt.Println("deleted", pruned.Deleted, err)
	for _, kept := range pruned.Kept {
		fmt.Println(kept)
	}
	// Output:
	// []
	// deleted [Deployment shop/web-canary] <nil>
	// Deployment shop/web-copy is no longer desired, but was kept: the field manager example-workload does not own the object's label applyset.kubernetes.io/part-of
}

// exampleSet is an API server in memory with a parent. The parent emitted two Deployments before, and a person made a copy of one of them.
func exampleSet() (*apply.Applier, *corev1.ConfigMap) {
	ctx := context.Background()
	c, err := memory.Shop()
	if err != nil {
		panic(err)
	}
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-workload",
		LiveReader:   c, // mgr.GetAPIReader()
	})
	if err != nil {
		panic(err)
	}
	earlier, err := applyset.New(applier)
	if err != nil {
		panic(err)
	}
	parent := named("parent")
	if err := c.Create(ctx, parent); err != nil {
		panic(err)
	}
	round := earlier.Apply(ctx, parent, emits(apply.Intent{Config: deployment("web")}, apply.Intent{Config: deployment("web-canary")}))
	copied := &appsv1.Deployment{}
	err = errors.Join(append(round.Errs, c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, copied))...)
	copied.ObjectMeta = metav1.ObjectMeta{Namespace: "shop", Name: "web-copy", Labels: copied.Labels}
	if err := errors.Join(err, c.Create(ctx, copied), c.Get(ctx, client.ObjectKeyFromObject(parent), parent)); err != nil {
		panic(err)
	}
	return applier, parent
}
