package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	rbacv1ac "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply/reconciler"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

// becomes waits for the condition Applied of the User, with a reason unless it is "".
func (p person) becomes(ada *v1alpha1.User, status metav1.ConditionStatus, reason string) {
	p.t.Helper()
	p.become("the User says so", ada, func() string {
		condition := meta.FindStatusCondition(ada.Status.Conditions, v1alpha1.ConditionApplied)
		if condition == nil || condition.Status != status || reason != "" && condition.Reason != reason {
			return fmt.Sprintf("%+v", condition)
		}
		return ""
	})
}

// TestRoleBindingPlanted: somebody puts another role's RoleBinding under the name and the label of a
// User's; where no policy keeps our field managers, as here, under theirs, too. No subject is written
// into it, so the User's account does not get that role, and the User says what is in the way.
func TestRoleBindingPlanted(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-planted")
	p.createUser()
	ada := p.userIsComplete()
	p.atRest()
	for _, plant := range []struct{ manager, reason string }{{fieldmanagers.User, ""}, {"eve", reconciler.ReasonNameTaken}} {
		p.pause(ada)
		if err := p.Client.Delete(t.Context(), &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespaceName(), Name: user.Account}}); err != nil {
			t.Fatal(err)
		}
		planted := rbacv1ac.RoleBinding(user.Account, p.namespaceName()).
			WithLabels(map[string]string{user.OwnerLabel: p.name}).
			WithRoleRef(rbacv1ac.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName("cluster-admin")).
			WithSubjects(rbacv1ac.Subject().WithAPIGroup(rbacv1.GroupName).WithKind("User").WithName("eve"))
		if err := p.Client.Apply(t.Context(), planted, client.FieldOwner(plant.manager)); err != nil {
			t.Fatal(err)
		}
		before, after := &rbacv1.RoleBinding{}, &rbacv1.RoleBinding{}
		p.read(user.Account, before)
		p.resume(ada)
		p.becomes(ada, metav1.ConditionFalse, plant.reason)
		kit.Absence(t, time.Second, "another try")
		p.read(user.Account, after)
		if before.UID != after.UID || before.ResourceVersion != after.ResourceVersion {
			t.Errorf("by %s: it was written to: %+v", plant.manager, after)
		}
	}
}

// TestPodSecurityLowered: who may label the User's Namespace may lower what pods are held to, which is
// how pod security admission works. The User says so for as long as it is so.
func TestPodSecurityLowered(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-lowered")
	p.createUser()
	ada := p.userIsComplete()
	namespace := &corev1.Namespace{}
	p.read(p.namespaceName(), namespace)
	const label = "pod-security.kubernetes.io/enforce"
	if namespace.Labels[label] != "baseline" {
		t.Fatalf("pods are held to %q", namespace.Labels[label])
	}
	p.meddle(namespace, `{"metadata":{"labels":{"`+label+`":"privileged"}}}`)
	p.become("the User says so", ada, func() string {
		condition := meta.FindStatusCondition(ada.Status.Conditions, v1alpha1.ConditionApplied)
		if condition.Status != metav1.ConditionFalse || condition.Reason != reconciler.ReasonOwnershipConflict ||
			!strings.Contains(condition.Message, label) || !strings.Contains(condition.Message, "kubectl-edit") {
			return fmt.Sprintf("%+v", condition)
		}
		return ""
	})
	p.meddle(namespace, `{"metadata":{"labels":{"`+label+`":null}}}`)
	p.userIsComplete()
	if p.read(p.namespaceName(), namespace); namespace.Labels[label] != "baseline" {
		t.Errorf("pods are held to %q", namespace.Labels[label])
	}
}

// TestQuotaWithScopes: a quota that counts some pods only limits nobody. A scope selector is taken
// back. Scopes cannot change: a quota that was made with them is left alone, and told.
func TestQuotaWithScopes(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-scoped")
	p.createUser()
	l := &v1alpha1.License{
		ObjectMeta: metav1.ObjectMeta{Name: p.name},
		Spec:       v1alpha1.LicenseSpec{Limits: corev1.ResourceList{corev1.ResourcePods: kit.Quantity("1")}},
	}
	if err := p.Client.Create(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	p.atRest()
	quota := &corev1.ResourceQuota{}
	p.read(license.Quota, quota)
	p.meddle(quota, `{"spec":{"scopeSelector":{"matchExpressions":[{"scopeName":"PriorityClass","operator":"In","values":["none"]}]}}}`)
	kit.WaitFor(t, "it counts every pod again", func() string {
		p.read(license.Quota, quota)
		if selector := quota.Spec.ScopeSelector; selector == nil || len(selector.MatchExpressions) > 0 {
			return selector.String()
		}
		return ""
	})
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	p.atRest()

	p.pause(l)
	if err := p.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	planted := corev1ac.ResourceQuota(license.Quota, p.namespaceName()).
		WithLabels(map[string]string{user.OwnerLabel: p.name}).
		WithSpec(corev1ac.ResourceQuotaSpec().WithScopes(corev1.ResourceQuotaScopeTerminating))
	if err := p.Client.Apply(t.Context(), planted, client.FieldOwner(fieldmanagers.License)); err != nil { // as ours
		t.Fatal(err)
	}
	p.resume(l)
	p.become("the License says so", l, func() string {
		condition := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionApplied)
		if condition.Status != metav1.ConditionFalse || condition.Reason != reconciler.ReasonNameTaken {
			return fmt.Sprintf("%+v", condition)
		}
		return ""
	})
	if p.read(license.Quota, quota); len(quota.Spec.Hard) > 0 || len(quota.OwnerReferences) > 0 {
		t.Errorf("it was written to: %+v", quota)
	}
	if err := p.Client.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	if got := p.podsAllowed(); got != "1" {
		t.Errorf("%s pods are allowed", got)
	}
}
