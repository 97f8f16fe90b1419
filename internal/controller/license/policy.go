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

// policy takes limits back; other conflicts are rejected.
func policy() apply.Policy {
	return apply.OnConflict(apply.Reject).
		At(".spec.hard", apply.Force).
		At(".spec.scopeSelector", apply.Force).
		At(`.metadata.labels["`+Label+`"]`, apply.Force).
		At(`.metadata.annotations["`+LimitsAnnotation+`"]`, apply.Force)
}

// belongs reports whether an object is one that the License may apply to: the User's
// Namespace, or the License's own quota. One with scopes, which cannot change, was made by
// somebody else: it would limit some pods only.
func belongs(object client.Object) bool {
	quota, ok := object.(*corev1.ResourceQuota)
	if !ok {
		return user.Owns(object)
	}
	return len(quota.Spec.Scopes) == 0 && setup.Belongs(object, kind, user.Of(object), user.OwnerLabel)
}

// dependsOn is what of its status a License emits from.
var dependsOn = []func(*v1alpha1.License) any{
	func(l *v1alpha1.License) any { return l.Status.Phase },
	func(l *v1alpha1.License) any { return l.Status.Limits },
	func(l *v1alpha1.License) any { return l.Status.Namespace },
}

// namespaceChanged lets through that a User's Namespace is there or no more.
func namespaceChanged() predicate.Predicate {
	return coapply.Changed(func(object client.Object) any {
		if user, ok := object.(*v1alpha1.User); ok {
			return user.Status.Namespace
		}
		return nil
	})
}

// namespaceDrifted lets through what the License owns of a Namespace, and who owns it.
func namespaceDrifted() predicate.Predicate {
	return predicate.Or(
		coapply.BesidesStatus(func(namespace *corev1.Namespace) any { return namespace.Status }),
		coapply.Changed(func(object client.Object) any {
			return [2]string{object.GetLabels()[Label], object.GetAnnotations()[LimitsAnnotation]}
		}))
}

// quotaDrifted keeps to the License's own quota, and leaves out its status, which
// changes with every pod.
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
