package update_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply/update"
)

// exampleUpdater stands for update.New with a manager's client and API reader.
func exampleUpdater(objects ...client.Object) *update.Updater {
	c := fake.NewClientBuilder().WithObjects(objects...).WithStatusSubresource(&corev1.Node{}).Build()
	updater, err := update.New(update.Config{
		Client:       c, // mgr.GetClient()
		LiveReader:   c, // mgr.GetAPIReader()
		FieldManager: "coapply-node-maintenance",
		Backoff:      update.Exponential,
	})
	if err != nil {
		panic(err)
	}
	return updater
}

func exampleNode() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1", UID: "5f0d", Annotations: map[string]string{
			"example.com/maintenance": "true", "example.com/rack": "7",
		}},
		Spec: corev1.NodeSpec{Unschedulable: true},
	}
}

func ExampleDo() {
	updater := exampleUpdater(exampleNode())
	uncordon := func(node *corev1.Node) error {
		node.Spec.Unschedulable = false
		delete(node.Annotations, "example.com/maintenance")
		return nil
	}

	result, err := update.Do(context.Background(), updater, exampleNode(), uncordon)
	fmt.Println(result.Changed, result.Object.Spec.Unschedulable, result.Object.Annotations, err)

	// Already uncordoned is success without a write.
	result, err = update.Do(context.Background(), updater, result.Object, uncordon)
	fmt.Println(result.Changed, err)
	// Output:
	// true false map[example.com/rack:7] <nil>
	// false <nil>
}

func ExampleStatus() {
	updater := exampleUpdater(exampleNode())
	// The fields this writer knows, no others: they belong to other writers.
	result, err := update.Status(context.Background(), updater, exampleNode(), func(node *corev1.Node) error {
		node.Status.NodeInfo.KernelVersion = "6.12"
		return nil
	})
	fmt.Println(result.Changed, result.Object.Status.NodeInfo.KernelVersion, err)
	// Output: true 6.12 <nil>
}

func ExampleEnsureFinalizer() {
	updater := exampleUpdater(exampleNode())
	result, err := update.EnsureFinalizer(context.Background(), updater, exampleNode(), "example.com/drain")
	fmt.Println(result.Changed, result.Object.Finalizers, err)
	// Output: true [example.com/drain] <nil>
}

func ExampleRemoveFinalizer() {
	node := exampleNode()
	node.Finalizers = []string{"example.com/drain"}
	updater := exampleUpdater(node)
	result, err := update.RemoveFinalizer(context.Background(), updater, node, "example.com/drain")
	fmt.Println(result.Changed, result.Object.Finalizers, err)

	// An absent object has no finalizer to remove.
	absent := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-2"}}
	absentResult, err := update.RemoveFinalizer(context.Background(), updater, absent, "example.com/drain")
	fmt.Println(absentResult.Changed, absentResult.Object == nil, err)
	// Output:
	// true [] <nil>
	// false true <nil>
}
