package delivery

import (
	"crypto/rand"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

const (
	managerUser  = "system:serviceaccount:coapply-system:coapply-manager"
	powerManager = "coapply-devbox-power"
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
		if denied(name) && denied(fields) {
			return ""
		}
		return errorText(name) + ", " + errorText(fields)
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

// attempt is one request and whether it has to be denied.
type attempt struct {
	reason string
	denied bool
	send   func() error
}

// TestAdmission: our field managers are the service account's, and whose an
// administrator made them. Everybody else's ordinary work goes on.
func TestAdmission(t *testing.T) {
	t.Parallel()
	g := newGuarded(t)
	t.Run("metadata has a size", func(t *testing.T) { testMetadataSize(t, g) })
	t.Run("namespaces", func(t *testing.T) { testNamespaces(t, g) })
	for _, w := range append(g.spoofs(t), g.ordinary(t)...) {
		g.start(t)
		err := w.send()
		switch {
		case w.denied && !denied(err):
			t.Errorf("%s: %s, want denied with what to do", w.reason, errorText(err))
		case !w.denied && err != nil:
			t.Errorf("%s: %v", w.reason, err)
		}
	}
	g.start(t)
	shown := g.kubectl(t, "fieldowners", "migrate", "deployment/box", "-n", g.namespace, "--as", "granted", "--operation", "Apply",
		"--from", powerManager, "--to", "team", "--yes", "--undo-file", filepath.Join(t.TempDir(), "undo.json"))
	if g.start(t); !strings.Contains(shown, "fields moved") {
		t.Errorf("migrate: %s", shown)
	}
}

// start has the manager's service account apply everything, as the manager would.
func (g *guarded) start(t *testing.T) {
	t.Helper()
	if err := g.spoof(t, g.manager); err != nil {
		t.Fatal("the manager itself:", err)
	}
}

// spoofs are the ways to write in our name.
func (g *guarded) spoofs(t *testing.T) []attempt {
	agent := g.as(t, "person", powerManager+"/v1")
	return []attempt{
		{"scale under our name", true, func() error { return g.scale(t, g.person, client.FieldOwner(powerManager)) }},
		{"our name as a User-Agent", true, func() error { return g.merge(t, agent, `{"spec":{"replicas":4}}`) }},
		{"apply under our name", true, func() error { return g.spoof(t, g.person) }},
		{"create under our name", true, func() error {
			return g.person.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "p"},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, client.FieldOwner(powerManager))
		}},
		{"resize a pod under our name", true, func() error {
			return g.subresource(t, "resize", `{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"20m"}}}]}}`)
		}},
		{"debug a pod under our name", true, func() error {
			return g.subresource(t, "ephemeralcontainers", `{"spec":{"ephemeralContainers":[{"name":"debug","image":"i"}]}}`)
		}},
		{"patch under our name", true, func() error {
			return g.merge(t, g.person, `{"spec":{"replicas":4}}`, client.FieldOwner(powerManager))
		}},
		{"rename our entry", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { entry(box).Manager = "person" })
		}},
		{"drop our entry", true, func() error { return g.merge(t, g.person, `{"metadata":{"managedFields":[{}]}}`) }},
		{"drop it and change a label of no matter", true, func() error {
			return g.merge(t, g.person, `{"metadata":{"labels":{"x":"`+rand.Text()+`"},"managedFields":[{}]}}`)
		}},
		{"take a part of it", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) {
				entry(box).FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`)
			})
		}},
		{"make ours own more, to be deleted by our next apply", true, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) {
				raw := entry(box).FieldsV1.GetRawString()
				entry(box).FieldsV1 = metav1.NewFieldsV1(strings.Replace(raw, `"f:spec":{`, `"f:spec":{"f:paused":{},`, 1))
			})
		}},
	}
}

// subresource patches one of a pod of the manager's.
func (g *guarded) subresource(t *testing.T, name, body string) error {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "sub-" + name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": kit.Quantity("10m")}}}}},
	}
	if err := g.granted.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	patch := client.RawPatch(types.StrategicMergePatchType, []byte(body))
	if err := g.person.SubResource(name).Patch(t.Context(), pod, patch, client.FieldOwner("person"), client.DryRunAll); err != nil {
		t.Fatalf("%s under a name of one's own: %v", name, err)
	}
	return g.person.SubResource(name).Patch(t.Context(), pod, patch, client.FieldOwner(powerManager))
}

// ordinary is what others do every day.
func (g *guarded) ordinary(t *testing.T) []attempt {
	return []attempt{
		{"kubectl scale", false, func() error { return g.scale(t, g.person) }},
		{"take a field by force", false, func() error {
			return g.person.Patch(t.Context(), g.box(), client.RawPatch(types.ApplyPatchType, []byte(strings.Replace(boxBody, ":2", ":7", 1))),
				client.FieldOwner("person"), client.ForceOwnership)
		}},
		{"take all of ours by other values", false, func() error {
			return g.merge(t, g.person, `{"spec":{"replicas":6,"template":{"spec":{"containers":[{"name":"c","image":"other"}]}}}}`)
		}},
		{"a label", false, func() error { return g.merge(t, g.person, `{"metadata":{"labels":{"x":"y"}}}`) }},
		{"send everything back as it was read", false, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { box.Annotations = map[string]string{"seen": "yes"} })
		}},
		{"send it back without managed fields", false, func() error {
			return g.put(t, g.person, func(box *appsv1.Deployment) { box.ManagedFields, box.Labels = nil, map[string]string{"x": "z"} })
		}},
		{"a status", false, func() error {
			box := g.read(t)
			box.Status.ObservedGeneration = box.Generation
			return g.person.Status().Update(t.Context(), box)
		}},
		{"dropping our entry through the status, which does not do it", false, func() error {
			err := g.person.Status().Patch(t.Context(), g.box(),
				client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`)))
			if entry(g.read(t)).Manager == "" {
				err = errors.New("it is gone")
			}
			return err
		}},
		{"creating with an entry of ours, which is not taken", false, func() error {
			box := g.read(t)
			box.Name, box.ResourceVersion, box.UID = "forged", "", ""
			err := g.person.Create(t.Context(), box, client.FieldOwner("person"))
			if entry(box).Manager != "" {
				err = errors.New("it is there")
			}
			return err
		}},
		{"our name on a kind that we do not write to", false, func() error {
			return g.person.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: g.namespace, Name: "c"}},
				client.FieldOwner(powerManager))
		}},
		{"our name, with the right to it", false, func() error { return g.spoof(t, g.granted) }},
		{"rewriting our entry, with the right to it", false, func() error {
			return g.put(t, g.granted, func(box *appsv1.Deployment) { entry(box).Manager = "granted" })
		}},
		{"delete", false, func() error { return g.person.Delete(t.Context(), g.box()) }},
	}
}
