package fieldowners_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func exampleEntry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

func mustParse(entries ...metav1.ManagedFieldsEntry) fieldowners.Ownership {
	ownership, err := fieldowners.Parse(entries)
	if err != nil {
		panic(err)
	}
	return ownership
}

func ExampleParse() {
	ownership := mustParse(
		exampleEntry("workload", "Apply", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}}`),
		exampleEntry("kubectl-edit", "Update", `{"f:spec":{"f:replicas":{}}}`),
	)
	for _, entry := range ownership.Entries() {
		fmt.Println(entry.Manager, entry.Leaves())
	}
	fmt.Println(ownership.OwnersOf(fieldowners.MustParsePath(".spec.replicas")))
	// Output:
	// kubectl-edit/Update [.spec.replicas]
	// workload/Apply [.spec.template.spec.containers[name="web"].image]
	// [kubectl-edit/Update]
}

func ExampleDiff() {
	before := mustParse(exampleEntry("kubectl-edit", "Update", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`))
	after := mustParse(
		exampleEntry("kubectl-edit", "Update", `{"f:spec":{"f:paused":{}}}`),
		exampleEntry("power", "Apply", `{"f:spec":{"f:replicas":{}}}`),
	)
	for _, moved := range fieldowners.Diff(before, after).Moved {
		fmt.Println(moved.Path, "went from", moved.From, "to", moved.To)
	}
	// Output: .spec.replicas went from kubectl-edit/Update to power/Apply
}

func ExampleTransfer() {
	entries := []metav1.ManagedFieldsEntry{
		exampleEntry("controller", "Update", `{"f:spec":{"f:replicas":{},"f:paused":{}}}`),
	}
	transfer := fieldowners.Transfer{
		From:      []fieldowners.Source{{Manager: "controller", Paths: []fieldowners.Path{fieldowners.MustParsePath(".spec.replicas")}}},
		Operation: metav1.ManagedFieldsOperationUpdate,
		To:        "power", APIVersion: "apps/v1",
	}
	plan, err := transfer.Plan(entries, nil)
	if err != nil {
		panic(err)
	}
	after, err := plan.Rewrite(entries)
	if err != nil {
		panic(err)
	}
	for _, entry := range mustParse(after...).Entries() {
		fmt.Println(entry.Manager, entry.Leaves())
	}
	// Output:
	// controller/Update [.spec.paused]
	// power/Apply [.spec.replicas]
}

func ExampleLocate() {
	object := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app.kubernetes.io/name": "web"}}}
	fmt.Println(fieldowners.Locate(object, ".metadata.labels.app.kubernetes.io/name"))
	// Output: [.metadata.labels["app.kubernetes.io/name"]]
}
