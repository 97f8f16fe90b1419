package delivery

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// guarded is an API server with config/default, and in a namespace a Deployment that
// the manager's service account applied.
type guarded struct {
	config    *rest.Config
	namespace string
	// The manager's service account; somebody who may do everything in the namespace;
	// the same with the right to use our field managers there.
	manager, person, granted client.Client
}

func newGuarded(t *testing.T) *guarded {
	t.Helper()
	server, err := localcluster.StartAPIServer(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	kit.OnStop(server.Stop)
	g := &guarded{config: server.Config()}
	g.kubectl(t, "apply", "--server-side", "-k", kit.File("config", "default"))
	admin := kit.NewClient(t, g.config)
	g.namespace = kit.NewNamespace(t, admin)
	all := &rbacv1.ClusterRole{ // nobody fills the role admin here
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"", "apps", v1alpha1.SchemeGroupVersion.Group}, Verbs: []string{"*"},
			Resources: []string{"pods", "pods/resize", "pods/ephemeralcontainers", "devboxes", "configmaps", "deployments", "deployments/scale", "deployments/status"},
		}},
	}
	if err := admin.Create(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	for _, grant := range []struct{ user, role string }{
		{"person", all.Name}, {"granted", all.Name}, {"granted", "coapply-field-managers"},
	} {
		if err := admin.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: grant.user + "-" + grant.role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: grant.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: grant.user}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	g.manager, g.person, g.granted = g.as(t, managerUser, ""), g.as(t, "person", ""), g.as(t, "granted", "")
	g.start(t)
	kit.WaitFor(t, "the policies are in force", func() string {
		name := g.scale(t, g.person, client.DryRunAll, client.FieldOwner(powerManager))
		fields := g.merge(t, g.person, `{"metadata":{"managedFields":[{}]}}`, client.DryRunAll)
		size := g.person.Create(t.Context(), newBox(g.namespace, "box", notes(most+1)), client.DryRunAll)
		if denied(name) && denied(fields) && apierrors.IsInvalid(size) {
			return ""
		}
		return errorText(name) + ", " + errorText(fields) + ", " + errorText(size)
	})
	return g
}

// denied tells whether a policy of ours did it, and said what to do.
func denied(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "bind the ClusterRole coapply-field-managers")
}

func errorText(err error) string {
	if err == nil {
		return "allowed"
	}
	return err.Error()
}

// kubectl runs it as the administrator.
func (g *guarded) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, g.config, args...))
	if code != 0 {
		t.Fatalf("kubectl %s: %s", strings.Join(args, " "), stderr)
	}
	return stdout
}

// as gives a client of a user, with a User-Agent where that matters.
func (g *guarded) as(t *testing.T, user, agent string) client.Client {
	t.Helper()
	config := rest.CopyConfig(g.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	config.UserAgent = agent
	return kit.NewClient(t, config)
}

const boxBody = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"box"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},
	"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`

// box is the Deployment, of which nothing is known but the name.
func (g *guarded) box() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "box"}}
}

// spoof applies under a field manager of ours.
func (g *guarded) spoof(t *testing.T, c client.Client, opts ...client.PatchOption) error {
	t.Helper()
	return c.Patch(t.Context(), g.box(), client.RawPatch(types.ApplyPatchType, []byte(boxBody)),
		append(opts, client.FieldOwner(powerManager), client.ForceOwnership)...)
}

// put sends the Deployment as it is, changed.
func (g *guarded) put(t *testing.T, c client.Client, change func(*appsv1.Deployment)) error {
	t.Helper()
	box := g.read(t)
	change(box)
	return c.Update(t.Context(), box, client.FieldOwner("person"))
}

func (g *guarded) read(t *testing.T) *appsv1.Deployment {
	t.Helper()
	box := g.box()
	if err := g.manager.Get(t.Context(), client.ObjectKeyFromObject(box), box); err != nil {
		t.Fatal(err)
	}
	return box
}

func (g *guarded) scale(t *testing.T, c client.Client, opts ...client.SubResourcePatchOption) error {
	t.Helper()
	return c.SubResource("scale").Patch(t.Context(), g.box(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)), opts...)
}

func (g *guarded) merge(t *testing.T, c client.Client, body string, opts ...client.PatchOption) error {
	t.Helper()
	return c.Patch(t.Context(), g.box(), client.RawPatch(types.MergePatchType, []byte(body)), opts...)
}

// entry is that of the power manager.
func entry(box *appsv1.Deployment) *metav1.ManagedFieldsEntry {
	for i := range box.ManagedFields {
		if box.ManagedFields[i].Manager == powerManager {
			return &box.ManagedFields[i]
		}
	}
	return &metav1.ManagedFieldsEntry{}
}
