package user

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/setup"
)

type status struct{ client client.Reader }

// report returns a Report that writes the conditions and the name of the User's Namespace into the status. Report.Change
// gets the live User, so the creation time of the first Namespace is not overwritten, even if the cache is stale.
func (s status) report(ctx context.Context, user *v1alpha1.User, applied reconciler.Applied) (reconciler.Report[*v1alpha1.User], error) {
	namespace, err := s.namespace(ctx, user)
	if err != nil {
		return reconciler.Report[*v1alpha1.User]{}, err
	}
	condition := conditionOf(user, namespace, applied)
	return reconciler.Report[*v1alpha1.User]{Change: func(user *v1alpha1.User) error {
		user.Status.ObservedGeneration = condition.ObservedGeneration
		meta.SetStatusCondition(&user.Status.Conditions, condition)
		setup.SetContended(&user.Status.Conditions, condition.ObservedGeneration, applied)
		meta.SetStatusCondition(&user.Status.Conditions, setup.Ready(condition, "NamespaceStands", "the Namespace, its ServiceAccount and its RoleBinding match the desired state"))
		user.Status.Namespace = ""
		if !isThere(namespace) {
			return nil
		}
		user.Status.Namespace = namespace.Name
		if user.Status.AuditLog.CreateTime == nil {
			user.Status.AuditLog.CreateTime = namespace.CreationTimestamp.DeepCopy()
		}
		return nil
	}}, nil
}

// namespace returns the Namespace of the User. It returns nil if the Namespace does not exist or belongs to another owner.
func (s status) namespace(ctx context.Context, user *v1alpha1.User) (*corev1.Namespace, error) {
	var namespace corev1.Namespace
	err := s.client.Get(ctx, client.ObjectKey{Name: NamespaceOf(user.Name)}, &namespace)
	if err == nil && Owns(&namespace) {
		return &namespace, nil
	}
	return nil, client.IgnoreNotFound(err)
}

func isThere(namespace *corev1.Namespace) bool {
	return namespace != nil && namespace.DeletionTimestamp == nil
}

// conditionOf returns the User's condition Applied. The condition is False while the Namespace is being deleted. It
// becomes True only after the ServiceAccount and the RoleBinding have been applied.
func conditionOf(user *v1alpha1.User, namespace *corev1.Namespace, applied reconciler.Applied) metav1.Condition {
	condition := reconciler.Condition(v1alpha1.ConditionApplied, user.Generation, applied)
	switch {
	case namespace != nil && !isThere(namespace):
		condition.Status = metav1.ConditionFalse
		condition.Reason = "NamespaceTerminating"
		condition.Message = "the Namespace is being deleted; a new Namespace is created once the deletion has completed"
	case condition.Status == metav1.ConditionTrue && !namespaceStands(user):
		condition.Status = metav1.ConditionUnknown
		condition.Reason = "NamespaceOnly"
		condition.Message = "the Namespace exists; its ServiceAccount and its RoleBinding are applied next"
	}
	return condition
}
