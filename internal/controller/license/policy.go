package license

import (
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"coapply.dev"
	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/setup"
	"coapply.dev/internal/controller/user"
)

// policy forces limits, and rejects other conflicts.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(".spec.hard", apply.Force).
		At(".spec.scopeSelector", apply.Force).
		At(`.metadata.labels["`+Label+`"]`, apply.Force).
		At(`.metadata.annotations["`+LimitsAnnotation+`"]`, apply.Force)
}

// belongs reports whether the License may apply to an object: to the User's Namespace, or the
// License's own quota. A quota with scopes, which cannot change, was made by somebody else: it
// would limit some pods only.
func belongs(object client.Object) bool {
	quota, ok := object.(*corev1.ResourceQuota)
	if !ok {
		return user.Owns(object)
	}
	name := user.Of(object)
	return len(quota.Spec.Scopes) == 0 && (setup.ControlledBy(object, kind, name) || setup.Orphaned(object, user.OwnerLabel, name))
}

// dependsOn are the fields of its status from which a License emits.
var dependsOn = []func(*v1alpha1.License) any{
	func(l *v1alpha1.License) any { return l.Status.Phase },
	func(l *v1alpha1.License) any { return l.Status.Limits },
	func(l *v1alpha1.License) any { return l.Status.Namespace },
}

// namespaceChanged passes updates by which a User's status names its Namespace, or no longer
// does.
func namespaceChanged() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		if user, ok := object.(*v1alpha1.User); ok {
			return user.Status.Namespace
		}
		return nil
	})
}

// namespaceDrifted passes writes to a Namespace that leave its status as it was, and changes of
// the License's label and annotation.
func namespaceDrifted() predicate.Predicate {
	return predicate.Or(
		coapply.BesidesStatus(func(namespace *corev1.Namespace) any { return namespace.Status }),
		coapply.Changed(func(object client.Object) any {
			return [2]string{object.GetLabels()[Label], object.GetAnnotations()[LimitsAnnotation]}
		}))
}

// quotaDrifted passes changes of the License's own quota, except of its status, which changes
// with every pod.
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
