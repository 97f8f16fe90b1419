package ownership_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
)

// From get-modify-update to intents: what "manager" wrote by Update comes under the
// applier. It is shown first, and can be undone.
func ExampleMigrate() {
	old := entry("manager", "Update", "", `{"f:metadata":{"f:finalizers":{"v:\"example.com/drain\"":{}}},"f:spec":{"f:replicas":{}}}`)
	applier := exampleApplier(
		ok(exampleObject("7", 3, old)), stores("8"),
		ok(exampleObject("8", 3, entry("example-workload", "Apply", "", `{"f:spec":{"f:replicas":{}}}`))), stores("9"),
	)
	ctx := context.Background()

	transfer, err := ownership.Migrate(ctx, applier, webDeployment, ownership.From{Manager: "manager", Paths: []string{".spec"}})
	if err != nil {
		panic(err)
	}
	fmt.Print(transfer) // nothing is written yet

	undo, err := transfer.Do(ctx)
	fmt.Println("done:", err)

	_, err = undo.Do(ctx)
	fmt.Print(undo, "undone: ", err)
	// Output:
	// Migrate on Deployment shop/web: 1 field to move, 0 to stay
	//   move .spec.replicas: manager/Update -> example-workload/Apply
	// done: <nil>
	// Undo of Migrate on Deployment shop/web: 1 field to move, 0 to stay
	//   move .spec.replicas: example-workload/Apply -> manager/Update
	// undone: <nil>
}

// Two managers become one.
func ExampleRename() {
	applier := exampleApplier(ok(exampleObject("7", 3,
		entry("shop-size", "Apply", "", `{"f:spec":{"f:replicas":{}}}`),
		entry("shop-timing", "Apply", "", `{"f:spec":{"f:minReadySeconds":{}}}`))), stores("8"))

	transfer, err := ownership.Rename(context.Background(), applier, webDeployment,
		ownership.From{Manager: "shop-size"}, ownership.From{Manager: "shop-timing"})
	if err != nil {
		panic(err)
	}
	fmt.Print(transfer)
	_, err = transfer.Do(context.Background())
	fmt.Println(err)
	// Output:
	// Rename on Deployment shop/web: 2 fields to move, 0 to stay
	//   move .spec.replicas: shop-size/Apply -> example-workload/Apply
	//   move .spec.minReadySeconds: shop-timing/Apply -> example-workload/Apply
	// <nil>
}

// webDeployment names the object of the examples.
var webDeployment = apply.ObjectRef{
	GroupVersionKind: appsv1.SchemeGroupVersion.WithKind("Deployment"),
	NamespacedName:   types.NamespacedName{Namespace: "shop", Name: "web"},
}

// roundTripper is a cluster made of a function.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exampleApplier is made by apply.New(mgr.GetClient(), apply.Config{...}), and stands on a
// cluster that answers so, one request after the other.
func exampleApplier(answers ...answer) *apply.Applier {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(appsv1.SchemeGroupVersion.WithKind("Deployment"), meta.RESTScopeNamespace)
	sent := 0
	server := roundTripper(func(r *http.Request) (*http.Response, error) {
		if sent++; sent > len(answers) {
			return nil, errors.New("the example has no more answers: " + r.Method + " " + r.URL.String())
		}
		return answers[sent-1](r)
	})
	c, err := client.New(&rest.Config{Host: "http://server", Transport: server}, client.Options{Mapper: mapper})
	if err != nil {
		panic(err)
	}
	applier, err := apply.New(c, apply.Config{
		FieldManager: "example-workload",
		LiveReader:   c, // mgr.GetAPIReader()
	})
	if err != nil {
		panic(err)
	}
	return applier
}

// exampleObject is the deployment at a resourceVersion with these owners.
func exampleObject(resourceVersion string, replicas int32, owners ...metav1.ManagedFieldsEntry) *appsv1.Deployment {
	object := web("uid-1", resourceVersion)
	object.Spec.Paused, object.Spec.Replicas = false, &replicas
	object.ManagedFields = owners
	return object
}

// stores answers a transfer: the object has the managed fields that it is sent.
func stores(resourceVersion string) answer {
	return func(r *http.Request) (*http.Response, error) {
		var patch []struct {
			Path  string
			Value json.RawMessage
		}
		object := exampleObject(resourceVersion, 3)
		err := json.NewDecoder(r.Body).Decode(&patch)
		for _, operation := range patch {
			if operation.Path == "/metadata/managedFields" && err == nil {
				err = json.Unmarshal(operation.Value, &object.ManagedFields)
			}
		}
		if err != nil {
			return nil, err
		}
		return ok(object)(r)
	}
}
