package contract_test

import (
	"fmt"
	"os"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

func ExampleWrite() {
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	err := contract.Write(os.Stdout, contract.Contract{
		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec.template"}},
		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}, Shared: map[string]string{
			".spec.replicas": "an autoscaler may own them together with us",
		}},
	})
	if err != nil {
		panic(err)
	}
	// Output:
	// managers:
	//   shop-power:
	//     Deployment.apps:
	//       applies:
	//       - .spec.replicas
	//       shared:
	//         .spec.replicas: an autoscaler may own them together with us
	//   shop-web:
	//     Deployment.apps:
	//       applies:
	//       - .spec.template
}

func ExampleCheck() {
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	fmt.Println(contract.Check(contract.Contract{
		{Manager: "shop-web", Kind: deployment, Applies: []string{".spec"}},
		{Manager: "shop-power", Kind: deployment, Applies: []string{".spec.replicas"}},
	}))
	// Output:
	// contract: "shop-power", Deployment.apps, .spec.replicas: shop-web claims .spec as well; if both may own the field, give the reason in Shared
}

func ExampleComparer_Compare() {
	read, err := contract.Read(strings.NewReader(`
managers:
  shop-web:
    Deployment.apps:
      applies:
      - .spec.template
`))
	if err != nil {
		panic(err)
	}
	comparer, err := contract.NewComparer(read)
	if err != nil {
		panic(err)
	}
	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{{
		Manager: "shop-web", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
	}})
	if err != nil {
		panic(err)
	}
	for _, finding := range comparer.Compare(schema.GroupKind{Group: "apps", Kind: "Deployment"}, nil, ownership) {
		fmt.Println(finding.Message(), finding.Paths)
	}
	// Output:
	// shop-web/Apply owns 1 field of Deployment.apps that the contract does not allow this manager to own [.spec.replicas]
}
