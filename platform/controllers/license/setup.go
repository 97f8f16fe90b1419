package license

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"coapply.dev"
	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/setup"
	"coapply.dev/platform/controllers/user"
)

// Setup adds the reconciler of Licenses to a manager.
func Setup(mgr ctrl.Manager, options setup.Options) error {
	rt := options.Runtime.Within(func(namespace *corev1.Namespace) bool { return user.Owns(namespace) })
	applier, err := rt.Applier(fieldmanagers.License, policy())
	if err != nil {
		return fmt.Errorf("reconciler license: %w", err)
	}
	toLicense := setup.Enqueue(user.Named) // a License has the name of its User
	return coapply.For(rt, fieldmanagers.License, emit).
		Named("license").
		Watches(&v1alpha1.User{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(namespaceChanged())).
		Watches(&corev1.Namespace{}, toLicense, builder.WithPredicates(namespaceDrifted())).
		Watches(&corev1.ResourceQuota{}, toLicense, builder.WithPredicates(quotaDrifted())).
		// The rate limiter delays the next reconcile after an error by at most one minute. So even
		// after errors, a new phase is applied at most one minute late.
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](
			5*time.Millisecond, time.Minute)}).
		OnConflict(policy()).
		Belongs(func(_ *v1alpha1.License, object client.Object) bool { return belongs(object) }).
		DependsOn(dependsOn...).
		Finalizer(Finalizer, cleanup{mgr.GetClient(), mgr.GetAPIReader(), applier}.run).
		Status(status{mgr.GetClient(), time.Now, mgr.GetEventRecorder(fieldmanagers.License)}.report).
		Complete()
}

// policy returns the conflict policy of the reconciler. It forces the fields that contain the limits and the phase,
// and rejects conflicts over other fields.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(".spec.hard", apply.Force).
		At(".spec.scopeSelector", apply.Force).
		At(`.metadata.labels["`+Label+`"]`, apply.Force).
		At(`.metadata.annotations["`+LimitsAnnotation+`"]`, apply.Force)
}

// belongs reports whether the reconciler may apply to an object. The object must be the Namespace of a User or the ResourceQuota
// of a License. A ResourceQuota with spec.scopes is not ours: we never create one, and scopes cannot be added later.
func belongs(object client.Object) bool {
	quota, ok := object.(*corev1.ResourceQuota)
	if !ok {
		return user.Owns(object)
	}
	return len(quota.Spec.Scopes) == 0 && setup.Belongs(object, kind, user.Of(object), user.OwnerLabel)
}

// dependsOn are the fields of a License's status that emit reads. A change of one of these fields starts a reconcile.
var dependsOn = []func(*v1alpha1.License) any{
	func(l *v1alpha1.License) any { return l.Status.Phase },
	func(l *v1alpha1.License) any { return l.Status.Limits },
	func(l *v1alpha1.License) any { return l.Status.Namespace },
}

// namespaceChanged returns a predicate for Users. It drops updates that do not change status.namespace.
func namespaceChanged() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		if user, ok := object.(*v1alpha1.User); ok {
			return user.Status.Namespace
		}
		return nil
	})
}

// namespaceDrifted returns a predicate for Namespaces. It passes updates that change the label or the annotation of the
// License. It also passes updates that do not change the status, because an update may change only owners of fields.
func namespaceDrifted() predicate.Predicate {
	return predicate.Or(
		coapply.BesidesStatus(func(namespace *corev1.Namespace) any { return namespace.Status }),
		coapply.Changed(func(object client.Object) any {
			return [2]string{object.GetLabels()[Label], object.GetAnnotations()[LimitsAnnotation]}
		}))
}

// quotaDrifted returns a predicate for ResourceQuotas. It passes the events of a License's
// ResourceQuota, except updates of its status: the status changes with every pod of the Namespace.
func quotaDrifted() predicate.Predicate {
	ours := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == Quota })
	besides := coapply.BesidesStatus(func(quota *corev1.ResourceQuota) any { return quota.Status })
	return predicate.And(ours, predicate.Or(besides, coapply.Changed(func(object client.Object) any {
		quota, ok := object.(*corev1.ResourceQuota)
		if !ok {
			return nil
		}
		return []any{quota.Spec, quota.Labels, quota.OwnerReferences}
	})))
}

type cleanup struct {
	client  client.Client
	live    client.Reader
	applier *apply.Applier
}

// run cleans up before a License's finalizer is removed. It deletes the License's ResourceQuota and
// removes the License's fields from the User's Namespace. The name of the Namespace is computed from the
// License's name, and not read from the License's status, because another client may have cleared the status.
func (c cleanup) run(ctx context.Context, license *v1alpha1.License) (done bool, err error) {
	var namespace corev1.Namespace
	err = c.live.Get(ctx, client.ObjectKey{Name: user.NamespaceOf(license.Name)}, &namespace)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the Namespace %s: %w", user.NamespaceOf(license.Name), err)
	case !user.Owns(&namespace): // if there is a quota, the garbage collector deletes it after the License
		return true, nil
	}
	if err := c.deleteQuota(ctx, license, namespace.Name); err != nil {
		return false, err
	}
	_, err = ownership.Release(ctx, c.applier, apply.ObjectRef{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Namespace"), NamespacedName: client.ObjectKeyFromObject(&namespace), UID: namespace.UID,
	})
	return err == nil, err
}

func (c cleanup) deleteQuota(ctx context.Context, license *v1alpha1.License, namespace string) error {
	var quota corev1.ResourceQuota
	err := c.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: Quota}, &quota)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the ResourceQuota %s/%s: %w", namespace, Quota, err)
	case !metav1.IsControlledBy(&quota, license):
		return nil // the ResourceQuota has another owner
	}
	return setup.Delete(ctx, c.client, c.live, &quota)
}
