package operator

import (
	"context"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

type Cache struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Memory resource.Quantity `json:"memory"`
	} `json:"spec"`
}

func (c *Cache) DeepCopy() *Cache { out := *c; return &out }

func Ensure(ctx context.Context, c client.Client, cache *Cache) error {
	controllerutil.AddFinalizer(cache, "example.com/x")
	return c.Update(ctx, cache)
}
