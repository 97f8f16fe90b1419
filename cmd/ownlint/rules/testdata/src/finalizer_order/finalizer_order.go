package finalizerorder

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/operator/src/api/v1"
)

const finalizer = "example.com/cleanup"

type cloud interface {
	ProvisionBucket(ctx context.Context, database *v1.Plain) error
	CleanUp(ctx context.Context, database *v1.Plain) error
}

type reconciler struct {
	client.Client
	cloud cloud
}

func (r *reconciler) after(ctx context.Context, plain *v1.Plain) error {
	controllerutil.RemoveFinalizer(plain, finalizer)
	if err := r.Update(ctx, plain); err != nil {
		return err
	}
	return r.cloud.CleanUp(ctx, plain) // want `runs after the finalizer was removed`
}

func (r *reconciler) unchecked(ctx context.Context, plain *v1.Plain) error {
	_ = r.cloud.CleanUp(ctx, plain) // want `error of the clean-up is dropped`
	controllerutil.RemoveFinalizer(plain, finalizer)
	return r.Update(ctx, plain)
}

func (r *reconciler) provisioned(ctx context.Context, plain *v1.Plain) error {
	if err := r.cloud.ProvisionBucket(ctx, plain); err != nil { // want `created before the finalizer is stored`
		return err
	}
	if controllerutil.AddFinalizer(plain, finalizer) {
		return r.Update(ctx, plain)
	}
	return nil
}

// Cases that are not reported.

func (r *reconciler) ordered(ctx context.Context, plain *v1.Plain) error {
	if plain.DeletionTimestamp != nil {
		if err := r.cloud.CleanUp(ctx, plain); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(plain, finalizer)
		return r.Update(ctx, plain)
	}
	if controllerutil.AddFinalizer(plain, finalizer) {
		if err := r.Update(ctx, plain); err != nil {
			return err
		}
	}
	return r.cloud.ProvisionBucket(ctx, plain)
}
