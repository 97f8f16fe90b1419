//go:build special

package tagged

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"example.com/vendored/operator"
)

func ensure(ctx context.Context, c client.Client, cache *operator.Cache) error {
	controllerutil.AddFinalizer(cache, "example.com/x")
	return c.Update(ctx, cache)
}
