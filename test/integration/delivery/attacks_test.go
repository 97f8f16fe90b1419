package delivery

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// actors of the attacks: who may edit our namespaced kinds in the namespace, who may do everything in
// it, and a service account there that has the name of the manager's.
type actors struct{ author, admin, namesake client.Client }

func (g *guarded) actors(t *testing.T) actors {
	t.Helper()
	namesake := "system:serviceaccount:" + g.namespace + ":coapply-manager"
	admin := kit.NewClient(t, g.config)
	bindings := &rbacv1.ClusterRole{ // of the cluster's role admin, which nobody fills here: neither bind nor escalate
		ObjectMeta: metav1.ObjectMeta{Name: "bindings"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"create", "get", "list", "patch", "update", "watch", "delete"},
		}},
	}
	if err := admin.Create(t.Context(), bindings); err != nil {
		t.Fatal(err)
	}
	for user, roles := range map[string][]string{
		"author": {"coapply-devbox-editor", "coapply-nodeset-editor", "coapply-slurmcontroller-editor"},
		"admin":  {"coapply-devbox-admin", "coapply-nodeset-admin", "coapply-slurmcontroller-admin", "all", "bindings"},
		namesake: {"all"},
	} {
		for _, role := range roles {
			binding := roleBinding(g.namespace, "", role, user)
			binding.GenerateName = "grant-"
			if err := admin.Create(t.Context(), binding); err != nil {
				t.Fatal(err)
			}
		}
	}
	return actors{g.as(t, "author", ""), g.as(t, "admin", ""), g.as(t, namesake, "")}
}

func roleBinding(namespace, name, role, user string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
}

const notHeld = "attempting to grant RBAC permissions not currently held"

// testRights: nobody gets more rights through us than the installation gives. What each may do is
// tried first, so that a refusal is not that of somebody who may do nothing.
func testRights(t *testing.T, g *guarded) {
	who := g.actors(t)
	box := func(namespace string) *v1alpha1.Devbox {
		return &v1alpha1.Devbox{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rights"}, Spec: v1alpha1.DevboxSpec{Image: "a"}}
	}
	pod := func(namespace, account string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "rights"},
			Spec:       corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
		}
	}
	kit.WaitFor(t, "everybody may do what is theirs", func() string {
		for what, err := range map[string]error{
			"author, a Devbox":           who.author.Create(t.Context(), box(g.namespace), client.DryRunAll),
			"admin, a pod":               who.admin.Create(t.Context(), pod(g.namespace, ""), client.DryRunAll),
			"admin, a binding":           who.admin.Create(t.Context(), roleBinding(g.namespace, "rights", "coapply-devbox-editor", "x"), client.DryRunAll),
			"namesake, a label":          g.merge(t, who.namesake, `{"metadata":{"labels":{"x":"y"}}}`, client.DryRunAll),
			"the manager, a User's role": g.manager.Create(t.Context(), roleBinding(g.namespace, "rights", "coapply-devbox-editor", "x"), client.DryRunAll),
		} {
			if err != nil {
				return what + ": " + err.Error()
			}
		}
		return ""
	})
	if err := who.author.Create(t.Context(), box(g.namespace)); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "coapply-system", Name: "coapply-manager"}}
	names := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "coapply-field-manager-names"}}
	for _, attack := range []struct {
		reason string
		err    error
		want   string
	}{
		{"an author in another namespace", who.author.Create(t.Context(), box("default")), `cannot create resource "devboxes"`},
		{"an author's User", who.author.Create(t.Context(), &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), `cannot create resource "users"`},
		{"an author's License", who.author.Create(t.Context(), &v1alpha1.License{ObjectMeta: metav1.ObjectMeta{Name: "x"}}), `cannot create resource "licenses"`},
		{"an author's NodeMaintenance", who.author.Create(t.Context(), &v1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "x"}}),
			`cannot create resource "nodemaintenances"`},
		{"an author's status", who.author.Status().Patch(t.Context(), box(g.namespace), client.RawPatch("application/merge-patch+json", []byte(`{"status":{}}`))),
			`cannot patch resource "devboxes/status"`},
		{"an author's own pod", who.author.Create(t.Context(), pod(g.namespace, "")), `cannot create resource "pods"`},
		{"an author at the Deployment", g.merge(t, who.author, `{"spec":{"paused":true}}`), `cannot patch resource "deployments"`},
		{"an author under our name", who.author.Patch(t.Context(), box(g.namespace),
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"state":"Stopped"}}`)), client.FieldOwner("coapply-devbox-workload")), "bind the ClusterRole coapply-field-managers"},

		{"an admin gives the right to our names", who.admin.Create(t.Context(), roleBinding(g.namespace, "x", "coapply-field-managers", "admin")), notHeld},
		{"an admin makes a role of it", who.admin.Create(t.Context(), &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "x"},
			Rules:      []rbacv1.PolicyRule{{APIGroups: []string{v1alpha1.SchemeGroupVersion.Group}, Resources: []string{"fieldmanagers"}, Verbs: []string{"use"}}},
		}), notHeld},
		{"an admin gives the manager's role", who.admin.Create(t.Context(), roleBinding(g.namespace, "x", "coapply-manager", "admin")), notHeld},
		{"an admin under our name", g.spoof(t, who.admin), "is reserved"},
		{"a token of the manager's account", who.admin.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{}),
			`cannot create resource "serviceaccounts/token"`},
		{"a pod of the manager's account", who.admin.Create(t.Context(), pod("coapply-system", "coapply-manager")), `cannot create resource "pods"`},
		{"the manager's lease", who.admin.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "coapply-system", Name: "coapply-manager.coapply.dev"}}),
			`cannot create resource "leases"`},
		{"a policy switched off", who.admin.Delete(t.Context(), names), `cannot delete resource "validatingadmissionpolicybindings"`},

		{"an account of the manager's name in another namespace", g.spoof(t, who.namesake), "is reserved"},

		{"the manager's account reads Secrets", g.manager.List(t.Context(), &corev1.SecretList{}), `cannot list resource "secrets"`},
		{"it makes a token", g.manager.SubResource("token").Create(t.Context(), account.DeepCopy(), &authenticationv1.TokenRequest{}),
			`cannot create resource "serviceaccounts/token"`},
		{"it gives another role", g.manager.Create(t.Context(), roleBinding(g.namespace, "x", "cluster-admin", "x")), notHeld},
		{"it changes a role", g.manager.Delete(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "coapply-devbox-editor"}}),
			`cannot delete resource "clusterroles"`},
		{"it deletes a Namespace", g.manager.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: g.namespace}}), `cannot delete resource "namespaces"`},
		{"it switches a policy off", g.manager.Delete(t.Context(), names), `cannot delete resource "validatingadmissionpolicybindings"`},
	} {
		if attack.err == nil || !strings.Contains(attack.err.Error(), attack.want) {
			t.Errorf("%s: %s, want %s", attack.reason, errorText(attack.err), attack.want)
		}
	}
}
