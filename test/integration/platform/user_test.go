package platform

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/license"
	"coapply.dev/platform/controllers/user"
	"coapply.dev/test/kit"
)

func TestUser(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-whole")
	p.createUser()
	ada := p.userIsComplete()
	var namespace corev1.Namespace
	p.read(p.namespaceName(), &namespace)
	if namespace.Labels[user.OwnerLabel] != p.name || namespace.Annotations[user.DisplayNameAnnotation] != "Ada Lovelace" {
		t.Errorf("the Namespace has %v, %v", namespace.Labels, namespace.Annotations)
	}
	if created := ada.Status.AuditLog.CreateTime; !created.Equal(&namespace.CreationTimestamp) {
		t.Errorf("createTime is %v, the Namespace is of %v", created, namespace.CreationTimestamp)
	}
	p.mayWorkWithDevboxes()
	p.atRest()

	p.meddle(&namespace, `{"metadata":{"labels":{"`+user.OwnerLabel+`":"eve"}}}`)
	var binding rbacv1.RoleBinding
	p.read(user.Account, &binding)
	p.meddle(&binding, `{"subjects":[{"kind":"User","name":"eve","apiGroup":"rbac.authorization.k8s.io"}]}`)
	kit.WaitFor(t, "what was meddled with is corrected", func() string {
		p.read(p.namespaceName(), &namespace)
		p.read(user.Account, &binding)
		if namespace.Labels[user.OwnerLabel] != p.name || len(binding.Subjects) != 1 || binding.Subjects[0].Name != user.Account {
			return fmt.Sprint(namespace.Labels, binding.Subjects)
		}
		return ""
	})
	p.atRest()

	if err := p.Client.Delete(t.Context(), ada); err != nil {
		t.Fatal(err)
	}
	p.gone(p.name, &v1alpha1.User{})
	// The garbage collector looks for new kinds every half minute, and this one is as old
	// as the control plane.
	for deadline := time.Now().Add(kit.Patience); p.find(p.namespaceName(), &namespace) == nil && namespace.DeletionTimestamp == nil; {
		if time.Now().After(deadline) {
			t.Fatal("nobody deletes the Namespace")
		}
		time.Sleep(100 * time.Millisecond)
	}
	p.gone(p.namespaceName(), &corev1.Namespace{})
}

// mayWorkWithDevboxes holds what the ServiceAccount may do: Devboxes in its own
// Namespace, and nothing else.
func (p person) mayWorkWithDevboxes() {
	p.t.Helper()
	config := p.Config()
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + p.namespaceName() + ":" + user.Account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + p.namespaceName(), "system:authenticated"},
	}
	c := kit.NewClient(p.t, config)
	box := func(namespace string) *v1alpha1.Devbox {
		return &v1alpha1.Devbox{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.name},
			Spec:       v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1", State: v1alpha1.DevboxStopped},
		}
	}
	// What authorises looks into a cache of bindings, which may be behind.
	kit.WaitFor(p.t, "the ServiceAccount creates a Devbox", func() string {
		if err := c.Create(p.t.Context(), box(p.namespaceName())); err != nil {
			return err.Error()
		}
		return ""
	})
	for what, err := range map[string]error{
		"a Devbox elsewhere":        c.Create(p.t.Context(), box("default")),
		"its Namespace's Secrets":   c.List(p.t.Context(), &corev1.SecretList{}, client.InNamespace(p.namespaceName())),
		"its RoleBindings":          c.List(p.t.Context(), &rbacv1.RoleBindingList{}, client.InNamespace(p.namespaceName())),
		"its Namespace's deletion":  c.Delete(p.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceName()}}),
		"its own User":              c.Get(p.t.Context(), client.ObjectKey{Name: p.name}, &v1alpha1.User{}),
		"the ResourceQuotas of all": c.List(p.t.Context(), &corev1.ResourceQuotaList{}),
	} {
		if !apierrors.IsForbidden(err) {
			p.t.Errorf("%s: %v; want it forbidden", what, err)
		}
	}
}

// TestUserNamespaceDeleted: one that goes is made again, and the audit log stays.
func TestUserNamespaceDeleted(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-again")
	p.createUser()
	before := p.userIsComplete()
	first := corev1.Namespace{}
	p.read(p.namespaceName(), &first)
	// A finalizer keeps it terminating until the test has looked.
	p.meddle(&first, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if err := p.Client.Delete(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	var ada v1alpha1.User
	p.become("the User says that its Namespace is being deleted", &ada, func() string {
		condition := meta.FindStatusCondition(ada.Status.Conditions, v1alpha1.ConditionApplied)
		if ada.Status.Namespace != "" || condition.Status != metav1.ConditionFalse || condition.Reason != "NamespaceTerminating" {
			return fmt.Sprintf("%+v", ada.Status)
		}
		return ""
	})
	p.atRest()
	p.meddle(&first, `{"metadata":{"finalizers":null}}`)
	kit.WaitFor(t, "another Namespace", func() string {
		var second corev1.Namespace
		if err := p.find(p.namespaceName(), &second); err != nil || second.UID == first.UID {
			return fmt.Sprint(err)
		}
		return ""
	})
	after := p.userIsComplete()
	if !after.Status.AuditLog.CreateTime.Equal(before.Status.AuditLog.CreateTime) {
		t.Errorf("createTime was %v and is %v", before.Status.AuditLog.CreateTime, after.Status.AuditLog.CreateTime)
	}
	p.meddleStatusRefused(after)
}

// meddleStatusRefused: the API server holds that createTime does not change.
func (p person) meddleStatusRefused(ada *v1alpha1.User) {
	p.t.Helper()
	for _, patch := range []string{
		`{"status":{"auditLog":{"createTime":"2020-01-01T00:00:00Z"}}}`,
		`{"status":{"auditLog":null}}`,
		`{"status":null}`,
	} {
		err := p.Client.Status().Patch(p.t.Context(), ada.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)))
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "set once") {
			p.t.Errorf("%s: %v", patch, err)
		}
	}
}

// TestUserForeignNamespace: one that was there before is left alone, and when it goes
// the User gets its own.
func TestUserForeignNamespace(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-foreign")
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceName()}}
	if err := p.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	p.createUser()
	p.createLicense(nil)
	var ada v1alpha1.User
	p.become("the User says why not", &ada, func() string {
		condition := meta.FindStatusCondition(ada.Status.Conditions, v1alpha1.ConditionApplied)
		if condition == nil || condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "belongs to someone else") {
			return fmt.Sprintf("%+v", ada.Status)
		}
		return ""
	})
	if ada.Status.Namespace != "" || ada.Status.AuditLog.CreateTime != nil {
		t.Errorf("the status claims %+v", ada.Status)
	}
	p.licenseIs(v1alpha1.LicenseActive, "")
	p.nothingIn(foreign)
	if err := p.Client.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
}

// TestUserNamespaceReplaced: what the status says of the Namespace may be old. Nothing
// goes into the one that somebody else has put in its place meanwhile.
func TestUserNamespaceReplaced(t *testing.T) {
	t.Parallel()
	p := newPerson(t, "person-replaced")
	p.createUser()
	p.createLicense(nil)
	ada := p.userIsComplete()
	p.licenseIs(v1alpha1.LicenseActive, p.namespaceName())
	p.pause(ada)
	mine := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceName()}}
	if err := p.Client.Delete(t.Context(), mine); err != nil {
		t.Fatal(err)
	}
	p.gone(p.namespaceName(), &corev1.Namespace{})
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.namespaceName()}}
	if err := p.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	// A reconcile that was under way before the pause may have seen the Namespace go.
	old := client.RawPatch(types.MergePatchType, []byte(`{"status":{"namespace":"`+p.namespaceName()+`"}}`))
	if err := p.Client.Status().Patch(t.Context(), ada.DeepCopy(), old, client.FieldOwner("kubectl-edit")); err != nil {
		t.Fatal(err)
	}
	var l v1alpha1.License
	p.become("the License says why not", &l, func() string {
		condition := meta.FindStatusCondition(l.Status.Conditions, v1alpha1.ConditionApplied)
		if condition.Status != metav1.ConditionFalse || !strings.Contains(condition.Message, "Namespace") {
			return fmt.Sprintf("%+v", l.Status)
		}
		return ""
	})
	p.resume(ada)
	p.become("the User has no Namespace", ada, func() string { return ada.Status.Namespace })
	p.licenseIs(v1alpha1.LicenseActive, "")
	p.nothingIn(foreign)
}

// nothingIn holds that nothing of ours is in a Namespace or on it.
func (p person) nothingIn(foreign *corev1.Namespace) {
	p.t.Helper()
	for name, objects := range map[string][]client.Object{
		user.Account:  {&corev1.ServiceAccount{}, &rbacv1.RoleBinding{}},
		license.Quota: {&corev1.ResourceQuota{}},
	} {
		for _, object := range objects {
			if err := p.find(name, object); !apierrors.IsNotFound(err) {
				p.t.Errorf("%T in someone else's Namespace: %v", object, err)
			}
		}
	}
	var now corev1.Namespace
	p.read(p.namespaceName(), &now)
	if now.ResourceVersion != foreign.ResourceVersion {
		p.t.Errorf("someone else's Namespace was changed: %+v", now.ObjectMeta)
	}
}
