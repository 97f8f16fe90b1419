package broken

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

func broken(ctx context.Context, c client.Client) error {
	return c.Update(ctx, undefined)
}
