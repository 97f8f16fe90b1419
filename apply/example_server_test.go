package apply_test

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit/memory"
)

// exampleClient stands for a manager's client, whose rest.Config was wrapped with apply.RecordExchange. The cluster is an API server in memory
// with the Deployment web, which has 5 replicas and these owners. Without owners, an autoscaler owns the replicas.
func exampleClient(owners ...metav1.ManagedFieldsEntry) client.Client {
	if len(owners) == 0 {
		owners = []metav1.ManagedFieldsEntry{hpa}
	}
	c, err := memory.ShopWithWeb(owners...)
	if err != nil {
		panic(err)
	}
	return c
}

// exampleApplier is made by apply.New(mgr.GetClient(), apply.Config{...}).
func exampleApplier(policy apply.Policy, owners ...metav1.ManagedFieldsEntry) *apply.Applier {
	c := exampleClient(owners...)
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-workload",
		LiveReader:   c, // mgr.GetAPIReader()
		Policy:       policy,
	})
	if err != nil {
		panic(err)
	}
	return applier
}
