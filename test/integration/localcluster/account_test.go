package localcluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/test/kit"
)

// TestManagerOutlivesItsToken: a manager works on when the token that it started with
// holds no more. Here it ends with its service account, which is made anew.
func TestManagerOutlivesItsToken(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: kit.NewNamespace(t, c), Name: "manager"}}
	for _, object := range []client.Object{account.DeepCopy(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account.Namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: account.Namespace, Name: account.Name}},
	}} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	acting, err := kit.Cluster(t).ActAs(t.Context(), client.ObjectKeyFromObject(account), 100*time.Millisecond, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(acting.Stop)
	first, err := clientcmd.BuildConfigFromFlags("", acting.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	first.BearerTokenFile = "" // the token of now, for ever

	probes := kit.FreeAddress(t)
	manager := kit.StartManager(t, acting.Kubeconfig, "--leader-elect=false", "--controllers=user",
		"--metrics-bind-address=0", "--health-probe-bind-address", probes)
	kit.WaitFor(t, "ready", func() string { return kit.Ready(probes) })
	createUser(t, c, account.Namespace+"-before")

	if err := c.Delete(t.Context(), account); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), account.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	old := kit.NewClient(t, first)
	kit.WaitFor(t, "the first token is refused", func() string {
		if err := old.Get(t.Context(), client.ObjectKeyFromObject(account), &corev1.ServiceAccount{}); err != nil {
			return ""
		}
		return "it holds"
	})
	createUser(t, c, account.Namespace+"-after")
	manager.Stop(t)
}

// createUser waits until it has what it needs: the manager reads its token's file once
// a minute, and after refusals it waits before it tries again.
func createUser(t *testing.T, c client.Client, name string) {
	t.Helper()
	user := &v1alpha1.User{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := c.Create(t.Context(), user); err != nil {
		t.Fatal(err)
	}
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 4*time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKeyFromObject(user), user)
		return meta.IsStatusConditionTrue(user.Status.Conditions, v1alpha1.ConditionApplied), err
	})
	if err != nil {
		t.Fatalf("%s is not applied: %v; its conditions are %v", name, err, user.Status.Conditions)
	}
}
