package statusupdate

import (
	"context"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "example.com/operator/src/api/v1"
)

type reconciler struct{ client.Client }

func (r *reconciler) replaced(ctx context.Context, database *v1.Database) error {
	database.Status.Phase = "Ready"
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		latest := &v1.Database{}
		if err := r.Get(ctx, client.ObjectKeyFromObject(database), latest); err != nil {
			return err
		}
		latest.Status = database.Status // want `whole status is replaced with an older one`
		return r.Status().Update(ctx, latest)
	})
}

func (r *reconciler) replacedByVariable(ctx context.Context, key client.ObjectKey, status v1.DatabaseStatus) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var latest v1.Database
		if err := r.Get(ctx, key, &latest); err != nil {
			return err
		}
		latest.Status = status // want `whole status is replaced with an older one`
		return r.Status().Update(ctx, &latest)
	})
}

// Cases that are not reported.

func (r *reconciler) oneField(ctx context.Context, database *v1.Database) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		latest := &v1.Database{}
		if err := r.Get(ctx, client.ObjectKeyFromObject(database), latest); err != nil {
			return err
		}
		latest.Status.Phase = database.Status.Phase
		return r.Status().Update(ctx, latest)
	})
}

func compute(database *v1.Database) v1.DatabaseStatus { return v1.DatabaseStatus{Phase: database.Name} }

func (r *reconciler) computed(ctx context.Context, key client.ObjectKey) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		latest := &v1.Database{}
		if err := r.Get(ctx, key, latest); err != nil {
			return err
		}
		latest.Status = compute(latest)
		return r.Status().Update(ctx, latest)
	})
}

func (r *reconciler) notRead(ctx context.Context, database *v1.Database, status v1.DatabaseStatus) error {
	database.Status = status
	return r.Status().Update(ctx, database)
}
