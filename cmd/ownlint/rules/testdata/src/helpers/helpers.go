// Package helpers has functions that other packages of the test operator call.
package helpers

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer writes an object of any type.
func AddFinalizer(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	controllerutil.AddFinalizer(object, finalizer)
	return c.Update(ctx, object)
}

// Send only sends the object.
func Send[T client.Object](ctx context.Context, c client.Client, object T) error {
	return c.Update(ctx, object)
}

// Mark only changes the object.
func Mark(object client.Object) {
	object.SetLabels(map[string]string{"marked": "true"})
}

// Retry writes a label with a retry of its own.
func Retry(ctx context.Context, c client.Client, object client.Object) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		Mark(object)
		return c.Update(ctx, object)
	})
}

// Hide returns an error that IsConflict does not recognise.
func Hide(ctx context.Context, c client.Client, object client.Object) error {
	if err := c.Update(ctx, object); err != nil {
		return fmt.Errorf("updating: %v", err)
	}
	return nil
}
