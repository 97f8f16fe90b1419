package lostconflict

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "example.com/operator/src/api/v1"
	"example.com/operator/src/helpers"
)

type reconciler struct{ client.Client }

func (r *reconciler) hidden(ctx context.Context, key types.NamespacedName) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return fmt.Errorf("reading: %v", err)
		}
		if err := r.Update(ctx, database); err != nil {
			return fmt.Errorf("updating %s: %v", key, err) // want `formatted without %w`
		}
		return nil
	})
}

func (r *reconciler) dropped(ctx context.Context, key types.NamespacedName) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		if err := r.Status().Update(ctx, database); err != nil { // want `drops the error`
			log.FromContext(ctx).Error(err, "updating")
		}
		return nil
	})
}

func (r *reconciler) callee(ctx context.Context, database *v1.Database) error {
	if err := helpers.Hide(ctx, r.Client, database); apierrors.IsConflict(err) { // want `never recognises a conflict that Hide`
		return nil
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.Get(ctx, client.ObjectKeyFromObject(database), database); err != nil {
			return err
		}
		return helpers.Hide(ctx, r.Client, database) // want `does not recognise a conflict that Hide`
	})
}

// Cases that are not reported.

func (r *reconciler) wrapped(ctx context.Context, key types.NamespacedName) error {
	var last error
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		database := &v1.Database{}
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		if last = r.Update(ctx, database); last != nil {
			return fmt.Errorf("updating: %w", last)
		}
		return client.IgnoreNotFound(r.Status().Update(ctx, database))
	})
	return err
}

func (r *reconciler) outsideOfRetry(ctx context.Context, database *v1.Database) error {
	if err := r.Update(ctx, database); err != nil {
		return fmt.Errorf("updating: %v", err)
	}
	return nil
}
