package deployment

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Kind of the object.
var Kind = appsv1.SchemeGroupVersion.WithKind("Deployment")

// Start is the value of the annotations after Prepare.
const Start = "start"

// Prepare lets the first managers own their fields of a Deployment that does not exist yet.
func Prepare(ctx context.Context, c client.Client, namespace, name string, managers int, labels map[string]string) error {
	for j := range managers {
		config := Intent(namespace, name, j, Start)
		if j == 0 {
			config.WithLabels(labels)
		}
		if err := c.Apply(ctx, config, client.FieldOwner(Manager(j))); err != nil {
			return fmt.Errorf("letting %s own its fields of Deployment %s: %w", Manager(j), name, err)
		}
	}
	return nil
}

// Unstructured is an intent as those have it who decode files.
func Unstructured(config *appsv1ac.DeploymentApplyConfiguration) (*unstructured.Unstructured, error) {
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	err = object.UnmarshalJSON(raw)
	return object, err
}

// Remove deletes what Prepare made; an absent one is success.
func Remove(ctx context.Context, c client.Client, namespace, name string) error {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return client.IgnoreNotFound(c.Delete(ctx, object))
}
