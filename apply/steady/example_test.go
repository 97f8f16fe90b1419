package steady_test

import (
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"coapply.dev/apply/steady"
)

// What is applied is there already, and ours: the proof holds. With another value it does not.
func Example() {
	kind := corev1.SchemeGroupVersion.WithKind("ConfigMap")
	applying := func(size string) steady.Request {
		return steady.Request{Manager: "shop", Kind: kind, GoType: reflect.TypeFor[corev1.ConfigMap](), Config: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"namespace": "shop", "name": "web"},
			"data": map[string]any{"size": size},
		}}
	}
	cached := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "1000",
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "shop", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1",
				FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data":{".":{},"f:size":{}}}`),
			}}},
		Data: map[string]string{"size": "3"},
	}
	schemas := managedfields.NewDeducedTypeConverter() // an Applier has those of the API server

	fmt.Println(applying("3").Prove(steady.Read{Object: cached, Kind: kind}, schemas))
	fmt.Println(applying("4").Prove(steady.Read{Object: cached, Kind: kind}, schemas))
	// Output:
	// true <nil>
	// false its values are not those of the intent
}
