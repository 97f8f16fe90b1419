package ownership_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/test/kit/memory"
)

// From get-modify-update to intents: what "manager" wrote by Update comes under the
// applier. It is shown first, and can be undone.
func ExampleMigrate() {
	applier := exampleApplier(
		entry("manager", "Update", "", `{"f:metadata":{"f:finalizers":{"v:\"example.com/drain\"":{}}},"f:spec":{"f:replicas":{}}}`))
	ctx := context.Background()

	transfer, err := ownership.Migrate(ctx, applier, webDeployment, ownership.From{Manager: "manager", Paths: []string{".spec"}})
	if err != nil {
		panic(err)
	}
	fmt.Print(transfer) // nothing is written yet

	undo, err := transfer.Do(ctx)
	fmt.Println("done:", err)

	_, err = undo.Do(ctx)
	fmt.Print(undo, "undone: ", err)
	// Output:
	// Migrate on Deployment shop/web: 1 field to move, 0 to stay
	//   move .spec.replicas: manager/Update -> example-workload/Apply
	// done: <nil>
	// Undo of Migrate on Deployment shop/web: 1 field to move, 0 to stay
	//   move .spec.replicas: example-workload/Apply -> manager/Update
	// undone: <nil>
}

// Two managers become one.
func ExampleRename() {
	applier := exampleApplier(
		entry("shop-size", "Apply", "", `{"f:spec":{"f:replicas":{}}}`),
		entry("shop-timing", "Apply", "", `{"f:spec":{"f:minReadySeconds":{}}}`))

	transfer, err := ownership.Rename(context.Background(), applier, webDeployment,
		ownership.From{Manager: "shop-size"}, ownership.From{Manager: "shop-timing"})
	if err != nil {
		panic(err)
	}
	fmt.Print(transfer)
	_, err = transfer.Do(context.Background())
	fmt.Println(err)
	// Output:
	// Rename on Deployment shop/web: 2 fields to move, 0 to stay
	//   move .spec.replicas: shop-size/Apply -> example-workload/Apply
	//   move .spec.minReadySeconds: shop-timing/Apply -> example-workload/Apply
	// <nil>
}

// Give up everything that the manager applied to an object.
func ExampleRelease() {
	ours := entry("example-workload", "Apply", "", `{"f:spec":{"f:minReadySeconds":{}}}`)
	applier := exampleApplier(ours, memory.HPA)

	for range 2 {
		outcome, err := ownership.Release(context.Background(), applier, webDeployment)
		fmt.Println(outcome.Action, outcome.Object, err)
	}
	// Output:
	// Configured Deployment shop/web <nil>
	// Unchanged Deployment shop/web <nil>
}

// webDeployment names the object of the examples.
var webDeployment = apply.ObjectRef{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"},
}

// exampleApplier is made by apply.New(mgr.GetClient(), apply.Config{...}), for an API server in memory where the fields of the Deployment web
// have these owners.
func exampleApplier(owners ...metav1.ManagedFieldsEntry) *apply.Applier {
	c, err := memory.ShopWithWeb(owners...)
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
	return applier
}
