package fieldowners_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func ExampleOwnership_Union() {
	monday, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{{
		Manager: "hpa", Operation: "Update", Subresource: "scale", APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	tuesday, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{{
		Manager: "shop", Operation: "Apply", APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:paused":{}}}`),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, entry := range monday.Union(tuesday).Entries() {
		fmt.Println(entry.Manager, entry.Fields())
	}
	// Output:
	// hpa/Update[scale] [.spec.replicas]
	// shop/Apply [.spec.paused]
}

func ExampleOwnership_Without() {
	parse := func(fields string) fieldowners.Ownership {
		o, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{{
			Manager: "shop", Operation: "Apply", APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}})
		if err != nil {
			fmt.Println(err)
		}
		return o
	}
	live := parse(`{"f:spec":{"f:replicas":{},"f:paused":{}}}`)
	rest := live.Without(parse(`{"f:spec":{"f:paused":{}}}`))
	entries, err := rest.ManagedFields()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", entries[0].FieldsV1.GetRawBytes())
	// Output:
	// {"f:spec":{"f:replicas":{}}}
}

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
