package wideupdate

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "example.com/operator/src/api/v1"
	"example.com/operator/src/helpers"
)

const finalizer = "example.com/cleanup"

type reconciler struct {
	client.Client
	scheme *runtime.Scheme
}

func (r *reconciler) guarded(ctx context.Context, key types.NamespacedName) error {
	database := &v1.Database{}
	if err := r.Get(ctx, key, database); err != nil {
		return client.IgnoreNotFound(err)
	}
	if !controllerutil.ContainsFinalizer(database, finalizer) {
		controllerutil.AddFinalizer(database, finalizer)
		return r.Update(ctx, database) // want `whole Database but changes only its finalizers; .* \.spec\.resources\.limits\[\*\] \("1000m" becomes "1"\), \.spec\.resources\.requests\[\*\] .*, \.spec\.storage .* and 1 more`
	}
	return nil
}

func (r *reconciler) inCondition(ctx context.Context, database *v1.Database) error {
	if controllerutil.RemoveFinalizer(database, finalizer) {
		if err := r.Update(ctx, database); err != nil { // want `changes only its finalizers`
			return err
		}
	}
	return nil
}

func (r *reconciler) value(ctx context.Context, key types.NamespacedName) error {
	var database v1.Database
	if err := r.Get(ctx, key, &database); err != nil {
		return err
	}
	if database.Annotations == nil {
		database.Annotations = map[string]string{}
	}
	database.Annotations["seen"] = "true"
	return r.Update(ctx, &database) // want `changes only its annotations`
}

func (r *reconciler) owned(ctx context.Context, owner *v1.Site, database *v1.Database) error {
	base := database.Name
	if err := r.Get(ctx, client.ObjectKeyFromObject(database), database); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(owner, database, r.scheme); err != nil {
		return err
	}
	database.SetLabels(map[string]string{"app": base})
	return r.Update(ctx, database) // want `changes only its labels and owner references`
}

func (r *reconciler) items(ctx context.Context) error {
	list := &v1.DatabaseList{}
	if err := r.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		list.Items[i].Labels["app"] = "x"
		if err := r.Update(ctx, &list.Items[i]); err != nil { // want `changes only its labels`
			return err
		}
	}
	return nil
}

func (r *reconciler) copies(ctx context.Context) error {
	list := &v1.DatabaseList{}
	if err := r.List(ctx, list); err != nil {
		return err
	}
	for _, database := range list.Items {
		database.Annotations["app"] = "x"
		if err := r.Update(ctx, &database); err != nil { // want `changes only its annotations`
			return err
		}
	}
	return nil
}

func (r *reconciler) retried(ctx context.Context, key types.NamespacedName) error {
	database := &v1.Database{}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := r.Get(ctx, key, database); err != nil {
			return err
		}
		controllerutil.AddFinalizer(database, finalizer)
		return r.Update(ctx, database) // want `changes only its finalizers`
	})
}

func (r *reconciler) mergeOfWhole(ctx context.Context, database *v1.Database) error {
	controllerutil.AddFinalizer(database, finalizer)
	return r.Patch(ctx, database, client.Merge) // want `changes only its finalizers`
}

func (r *reconciler) site(ctx context.Context, site *v1.Site) error {
	controllerutil.AddFinalizer(site, finalizer)
	return r.Update(ctx, site) // want `\.spec\.tls \(false becomes the default\), \.spec\.path \(absent becomes ""\), \.spec\.backup\.schedule \(absent becomes ""\), and`
}

func (r *reconciler) throughHelpers(ctx context.Context, database *v1.Database, plain *v1.Plain) error {
	if err := helpers.AddFinalizer(ctx, r, database, finalizer); err != nil { // want `changes only its finalizers`
		return err
	}
	return helpers.AddFinalizer(ctx, r, plain, finalizer)
}

func (r *reconciler) throughGenericHelper(ctx context.Context, database *v1.Database) error {
	helpers.Mark(database)
	return helpers.Send(ctx, r.Client, database) // want `changes only its labels`
}

func (r *reconciler) throughMethod(ctx context.Context, database *v1.Database) error {
	return r.add(ctx, database) // want `changes only its finalizers`
}

func (r *reconciler) add(ctx context.Context, object client.Object) error {
	object.SetFinalizers(append(object.GetFinalizers(), finalizer))
	return r.Update(ctx, object)
}

func (r *reconciler) readInCondition(ctx context.Context, key types.NamespacedName) error {
	database := &v1.Database{}
	if err := r.Get(ctx, key, database); err == nil && controllerutil.AddFinalizer(database, finalizer) {
		return r.Update(ctx, database) // want `changes only its finalizers`
	}
	return nil
}

func getDatabase() *v1.Database { return nil }

func (r *reconciler) declaredInCondition(ctx context.Context) error {
	if database := getDatabase(); controllerutil.AddFinalizer(database, finalizer) {
		return r.Update(ctx, database) // want `changes only its finalizers`
	}
	return nil
}

func (r *reconciler) bothBranches(ctx context.Context, database *v1.Database) error {
	if database.DeletionTimestamp == nil {
		controllerutil.AddFinalizer(database, finalizer)
		return r.Update(ctx, database) // want `changes only its finalizers`
	}
	controllerutil.RemoveFinalizer(database, finalizer)
	return r.Update(ctx, database) // want `changes only its finalizers`
}

// Cases that are not reported.

func (r *reconciler) identity(ctx context.Context, plain *v1.Plain) error {
	controllerutil.AddFinalizer(plain, finalizer)
	return r.Update(ctx, plain)
}

func (r *reconciler) builtIn(ctx context.Context, deployment *appsv1.Deployment) error {
	controllerutil.AddFinalizer(deployment, finalizer)
	return r.Update(ctx, deployment)
}

func (r *reconciler) untyped(ctx context.Context, object *unstructured.Unstructured, partial *metav1.PartialObjectMetadata) error {
	controllerutil.AddFinalizer(object, finalizer)
	if err := r.Update(ctx, object); err != nil {
		return err
	}
	controllerutil.AddFinalizer(partial, finalizer)
	return r.Update(ctx, partial)
}

func (r *reconciler) specToo(ctx context.Context, database *v1.Database) error {
	controllerutil.AddFinalizer(database, finalizer)
	database.Spec.Replicas = 3
	return r.Update(ctx, database)
}

func setDefaults(database *v1.Database) { database.Spec.Image = "postgres" }

func (r *reconciler) specInHelper(ctx context.Context, database *v1.Database) error {
	controllerutil.AddFinalizer(database, finalizer)
	setDefaults(database)
	return r.Update(ctx, database)
}

func (r *reconciler) narrow(ctx context.Context, database *v1.Database) error {
	base := database.DeepCopy()
	controllerutil.AddFinalizer(database, finalizer)
	return r.Patch(ctx, database, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))
}

func (r *reconciler) constructed(ctx context.Context) error {
	database := &v1.Database{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: map[string]string{"a": "b"}}}
	database.Spec.Image = "postgres"
	return r.Update(ctx, database)
}

func build(owner *v1.Site) *v1.Database {
	return &v1.Database{Spec: v1.DatabaseSpec{Image: owner.Name}}
}

func (r *reconciler) built(ctx context.Context, owner *v1.Site, desired *v1.Database) error {
	if err := controllerutil.SetControllerReference(owner, desired, r.scheme); err != nil {
		return err
	}
	if err := r.Update(ctx, desired); err != nil {
		return err
	}
	database := build(owner)
	controllerutil.AddFinalizer(database, finalizer)
	return r.Update(ctx, database)
}

func (r *reconciler) createdOrReplaced(ctx context.Context, desired *v1.Database) error {
	controllerutil.AddFinalizer(desired, finalizer)
	if err := r.Create(ctx, desired); err == nil {
		return nil
	}
	return r.Update(ctx, desired)
}

func (r *reconciler) statusOnly(ctx context.Context, database *v1.Database) error {
	database.Status.Phase = "Ready"
	return r.Status().Update(ctx, database)
}
