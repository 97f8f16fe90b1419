package fieldowners_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

// With controller-runtime: cache.Options{DefaultTransform: fieldowners.KeepOwn(…)}.
func ExampleKeepOwn() {
	transform := fieldowners.KeepOwn("shop", "shop-status")
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationApply,
			APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	object, err := transform(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
		ManagedFields: []metav1.ManagedFieldsEntry{
			entry("hpa", `{"f:spec":{"f:replicas":{}}}`),
			entry("shop", `{"f:spec":{"f:paused":{},"f:template":{"f:metadata":{"f:labels":{"f:app":{}}}}}}`),
			entry("kubectl", `{"f:spec":{"f:paused":{}}}`), // shares what shop owns
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range object.(*metav1.PartialObjectMetadata).ManagedFields {
		fmt.Println(entry.Manager)
	}
	// Output:
	// shop
	// kubectl
}
