package reconciler_test

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev/apply"
	"coapply.dev/apply/reconciler"
)

// A Deployment calls for a ConfigMap. Package coapply wires this with less.
func Example() {
	parent := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	c := fake.NewClientBuilder().WithObjects(parent).WithRESTMapper(mapper).Build() // mgr.GetClient()
	applier, err := apply.New(c, apply.Config{FieldManager: "web-config", LiveReader: c})
	if err != nil {
		panic(err)
	}

	r, err := reconciler.New(reconciler.Config[*appsv1.Deployment]{
		Client: c, Applier: applier,
		Emit: func(parent *appsv1.Deployment) ([]apply.Intent, error) {
			return []apply.Intent{{
				Config: corev1ac.ConfigMap(parent.Name, parent.Namespace).WithData(map[string]string{"for": parent.Name}),
			}}, nil
		},
		Status: func(_ context.Context, _ *appsv1.Deployment, applied reconciler.Applied) (reconciler.Report[*appsv1.Deployment], error) {
			condition := reconciler.Condition("Configured", 1, applied)
			fmt.Println(condition.Type, condition.Status, condition.Reason)
			return reconciler.Report[*appsv1.Deployment]{}, nil
		},
	})
	if err != nil {
		panic(err)
	}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(parent)}
	if _, err := r.Reconcile(context.Background(), request); err != nil {
		panic(err)
	}
	var config corev1.ConfigMap
	fmt.Println(c.Get(context.Background(), request.NamespacedName, &config), config.Data)
	// Output:
	// Configured True Applied
	// <nil> map[for:web]
}
