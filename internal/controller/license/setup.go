package license

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/controller/fieldmanagers"
	"coapply.dev/internal/controller/setup"
	"coapply.dev/internal/controller/user"
)

// Setup adds the reconciler of Licenses.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	rt := options.Runtime.Within(func(namespace *corev1.Namespace) bool { return user.Owns(namespace) })
	applier, err := rt.Applier(fieldmanagers.License, policy())
	if err != nil {
		return fmt.Errorf("license: %w", err)
	}
	toLicense := setup.Enqueue(user.Named) // the License has the User's name
	return coapply.For(rt, fieldmanagers.License, emit).
		Named("license").
		Watches(&v1alpha1.User{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(namespaceChanged())).
		Watches(&corev1.Namespace{}, toLicense, builder.WithPredicates(namespaceDrifted())).
		Watches(&corev1.ResourceQuota{}, toLicense, builder.WithPredicates(quotaDrifted())).
		// After an error the rate limiter decides when to reconcile again: at most this long
		// after a license begins or ends.
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			5*time.Millisecond, time.Minute)}).
		OnConflict(policy()).
		Belongs(func(_ *v1alpha1.License, object client.Object) bool { return belongs(object) }).
		DependsOn(dependsOn...).
		Finalizer(Finalizer, cleanup{mgr.GetClient(), mgr.GetAPIReader(), applier}.run).
		Status(status{mgr.GetClient(), time.Now, mgr.GetEventRecorder(fieldmanagers.License)}.report).
		Complete()
}
