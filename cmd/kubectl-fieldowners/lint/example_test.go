package lint_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

func ExampleCheck() {
	fields := metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`)
	findings, err := lint.Check([]metav1.ManagedFieldsEntry{
		{Manager: "kubectl-client-side-apply", Operation: "Update", APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: fields},
		{Manager: "shop-web", Operation: "Apply", APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: fields},
	}, lint.Facts{})
	if err != nil {
		panic(err)
	}
	for _, finding := range findings {
		fmt.Println(finding.Rule, finding.Paths)
		fmt.Println(finding.Remedy)
	}
	// Output:
	// client-side-apply [.spec.replicas]
	// kubectl fieldowners migrate TYPE/NAME --from kubectl-client-side-apply --to shop-web
}
