package user

import (
	rbacv1 "k8s.io/api/rbac/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/apply"
	"coapply.dev/internal/controller/setup"
)

// emit wants the Namespace, and once it is there what goes into it.
func emit(user *v1alpha1.User) ([]apply.Intent, error) {
	intents := []apply.Intent{{Config: namespace(user)}}
	if namespaceStands(user) {
		intents = append(intents, apply.Intent{Config: account(user)}, apply.Intent{Config: binding(user)})
	}
	return intents, nil
}

// namespaceStands reports whether the status names the User's own Namespace. Another one
// has been written there by somebody: all Users have one field manager, so that what
// is in another User's Namespace would not conflict with anything put there.
func namespaceStands(user *v1alpha1.User) bool {
	return user.Status.Namespace == NamespaceOf(user.Name)
}

func namespace(user *v1alpha1.User) *corev1ac.NamespaceApplyConfiguration {
	namespace := corev1ac.Namespace(NamespaceOf(user.Name)).
		WithLabels(labels(user)).
		// What a person may run is not to reach the node.
		WithLabels(map[string]string{"pod-security.kubernetes.io/enforce": "baseline"}).
		WithOwnerReferences(setup.OwnedBy(kind, user))
	if user.Spec.DisplayName != "" {
		namespace.WithAnnotations(map[string]string{DisplayNameAnnotation: user.Spec.DisplayName})
	}
	return namespace
}

// account is for the person, not for pods: no pod gets its token unasked.
func account(user *v1alpha1.User) *corev1ac.ServiceAccountApplyConfiguration {
	return corev1ac.ServiceAccount(Account, user.Status.Namespace).
		WithLabels(labels(user)).
		WithOwnerReferences(setup.OwnedBy(kind, user)).
		WithAutomountServiceAccountToken(false)
}

func binding(user *v1alpha1.User) *rbacv1ac.RoleBindingApplyConfiguration {
	return rbacv1ac.RoleBinding(Account, user.Status.Namespace).
		WithLabels(labels(user)).
		WithOwnerReferences(setup.OwnedBy(kind, user)).
		WithRoleRef(rbacv1ac.RoleRef().
			WithAPIGroup(rbacv1.GroupName).
			WithKind("ClusterRole").
			WithName(Role)).
		WithSubjects(rbacv1ac.Subject().
			WithKind(rbacv1.ServiceAccountKind).
			WithName(Account).
			WithNamespace(user.Status.Namespace))
}

func labels(user *v1alpha1.User) map[string]string {
	return map[string]string{OwnerLabel: user.Name, "app.kubernetes.io/managed-by": "coapply"}
}
