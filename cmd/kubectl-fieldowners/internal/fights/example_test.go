package fights_test

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/internal/fights"
	"coapply.dev/fieldowners"
)

func ExampleDetector() {
	ownedBy := func(manager string, operation metav1.ManagedFieldsOperationType) fieldowners.Ownership {
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: operation, APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		}})
		if err != nil {
			panic(err)
		}
		return ownership
	}
	byPower, byHPA := ownedBy("power", "Apply"), ownedBy("hpa", "Update")
	detector, err := fights.New(5)
	if err != nil {
		panic(err)
	}
	before, after, now := byPower, byHPA, time.Unix(0, 0)
	for range 10 { // what a watch shows
		now = now.Add(4 * time.Second)
		for _, fight := range detector.Observe("shop/web", fieldowners.Diff(before, after), now) {
			fmt.Println(fight)
		}
		before, after = after, before
	}
	fmt.Println(len(detector.Active(now)), "goes on;", len(detector.Active(now.Add(time.Minute))), "a minute later")
	// Output:
	// .spec.replicas of shop/web: hpa/Update and power/Apply took it from each other 6 times in a minute
	// 1 goes on; 0 a minute later
}
