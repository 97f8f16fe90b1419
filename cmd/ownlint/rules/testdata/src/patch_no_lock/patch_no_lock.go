package patchnolock

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/operator/src/api/v1"
)

type reconciler struct{ client.Client }

func (r *reconciler) finalizers(ctx context.Context, database *v1.Database) error {
	patch := client.MergeFrom(database.DeepCopy())
	controllerutil.AddFinalizer(database, "example.com/x")
	return r.Patch(ctx, database, patch) // want `whole list of finalizers`
}

func (r *reconciler) conditions(ctx context.Context, database *v1.Database, condition metav1.Condition) error {
	base := database.DeepCopy()
	meta.SetStatusCondition(&database.Status.Conditions, condition)
	return r.Status().Patch(ctx, database, client.MergeFrom(base)) // want `whole list of conditions`
}

func (r *reconciler) copied(ctx context.Context, database *v1.Database) error {
	modified := database.DeepCopy()
	modified.Finalizers = nil
	return r.Patch(ctx, modified, client.MergeFrom(database)) // want `whole list of finalizers`
}

// Cases that are not reported.

func (r *reconciler) locked(ctx context.Context, database *v1.Database) error {
	patch := client.MergeFromWithOptions(database.DeepCopy(), client.MergeFromWithOptimisticLock{})
	controllerutil.AddFinalizer(database, "example.com/x")
	return r.Patch(ctx, database, patch)
}

func (r *reconciler) maps(ctx context.Context, database *v1.Database) error {
	patch := client.MergeFrom(database.DeepCopy())
	database.Labels["a"] = "b"
	database.Spec.Replicas = 3
	return r.Patch(ctx, database, patch)
}

func (r *reconciler) statusField(ctx context.Context, database *v1.Database) error {
	patch := client.MergeFrom(database.DeepCopy())
	database.Status.Phase = "Ready"
	return r.Status().Patch(ctx, database, patch)
}
