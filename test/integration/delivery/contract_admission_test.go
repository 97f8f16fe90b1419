package delivery

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

const shopContract = `managers:
  shop-web:
    Deployment.apps:
      applies:
      - .metadata.labels
      - .spec.selector
      - .spec.template.metadata.labels
      - .spec.template.spec.containers[name="web"].image
      - .spec.template.spec.containers[name="web"].name
  shop-power:
    Deployment.apps:
      applies: [.spec.replicas]
  shop-finalizer:
    Deployment.apps:
      updates: ['.metadata.finalizers[="shop.example.com/clean-up"]']
  shop-db:
    StatefulSet.apps:
      applies: [.spec.replicas]
      selector: app=db,tier notin (test)
`

// shop is an API server with the policies of shopContract, and in a namespace a Deployment that the controller applied.
type shop struct {
	admin                       client.Client
	controller, person, granted client.Client // person may write everything, but not as a field manager of the contract
	namespace                   string
	agent                       client.Client // person with the User-Agent shop-power
}

func newShop(t *testing.T) *shop {
	t.Helper()
	server, err := localcluster.StartAPIServer(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	kit.OnStop(server.Stop)
	g := &guarded{config: server.Config()}
	file := filepath.Join(t.TempDir(), "contract.yaml")
	if err := os.WriteFile(file, []byte(shopContract), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &shop{admin: kit.NewClient(t, g.config)}
	s.namespace = kit.NewNamespace(t, s.admin)
	policies := g.kubectl(t, "fieldowners", "contract", "admission", "-f", file, "--service-account", s.namespace+"/controller", "--name", "shop")
	if err := os.WriteFile(file, []byte(policies), 0o600); err != nil {
		t.Fatal(err)
	}
	g.kubectl(t, "apply", "--server-side", "-f", file)
	account := "system:serviceaccount:" + s.namespace + ":controller"
	all := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "all"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"*"}, Verbs: []string{"*"}}},
	}
	power := &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "power"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"coapply.dev"}, Resources: []string{"fieldmanagers"},
			ResourceNames: []string{"shop-power"}, Verbs: []string{"use"}}},
	}
	for _, object := range []client.Object{all, power} {
		if err := s.admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for i, grant := range []struct{ user, role string }{{account, "all"}, {"person", "all"}, {"granted", "all"}, {"granted", "power"}} {
		if err := s.admin.Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("grant-%d", i)},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: grant.role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: grant.user}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	s.controller, s.person, s.granted, s.agent = g.as(t, account, ""), g.as(t, "person", ""), g.as(t, "granted", ""), g.as(t, "person", "shop-power/v1")
	s.applied(t)
	kit.WaitFor(t, "the policies are in force", func() string {
		db := s.create(t, "probe", map[string]string{"app": "db"}, client.DryRunAll)
		name := s.merge(t, s.person, `{"spec":{"paused":true}}`, client.FieldOwner("shop-web"), client.DryRunAll)
		entries := s.merge(t, s.person, `{"metadata":{"managedFields":[{}]}}`, client.DryRunAll)
		fields := s.merge(t, s.person, `{"spec":{"replicas":9}}`, client.DryRunAll)
		if deniedFor(db) && deniedFor(name) && deniedFor(entries) && deniedFor(fields) {
			return ""
		}
		return errorText(db) + ", " + errorText(name) + ", " + errorText(entries) + ", " + errorText(fields)
	})
	return s
}

// deniedFor reports whether one of the policies denied the request, and said what to do.
func deniedFor(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "bind the ClusterRole shop-field-managers to ")
}

func (s *shop) web() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}
}

// applied has the controller apply the Deployment again, so that its managers own their fields.
func (s *shop) applied(t *testing.T) {
	t.Helper()
	for manager, body := range map[string]string{
		"shop-power": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2}}`,
		"shop-web": `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"app":"web"}},"spec":{"selector":{"matchLabels":{"app":"web"}},
			"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"web:1"}]}}}}`,
	} {
		if manager == "shop-power" { // an apply of the replicas alone cannot create the Deployment
			defer s.mustApply(t, manager, body)
			continue
		}
		s.mustApply(t, manager, body)
	}
}

func (s *shop) mustApply(t *testing.T, manager, body string) {
	t.Helper()
	if err := s.controller.Patch(t.Context(), s.web(), client.RawPatch(types.ApplyPatchType, []byte(body)),
		client.FieldOwner(manager), client.ForceOwnership); err != nil {
		t.Fatalf("the controller as %s: %v", manager, err)
	}
}

func (s *shop) patch(t *testing.T, c client.Client, kind types.PatchType, body string, opts ...client.PatchOption) error {
	t.Helper()
	return c.Patch(t.Context(), s.web(), client.RawPatch(kind, []byte(body)), opts...)
}

func (s *shop) merge(t *testing.T, c client.Client, body string, opts ...client.PatchOption) error {
	t.Helper()
	return s.patch(t, c, types.MergePatchType, body, opts...)
}

func (s *shop) put(t *testing.T, c client.Client, change func(*appsv1.Deployment)) error {
	t.Helper()
	web := s.web()
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	change(web)
	return c.Update(t.Context(), web, client.FieldOwner("person"))
}

// create has the person create a StatefulSet with replicas, which the contract assigns to shop-db for some labels.
func (s *shop) create(t *testing.T, name string, labels map[string]string, opts ...client.CreateOption) error {
	t.Helper()
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
		},
	}
	return s.person.Create(t.Context(), set, opts...)
}

func entryOf(web *appsv1.Deployment, manager string) *metav1.ManagedFieldsEntry {
	for i := range web.ManagedFields {
		if web.ManagedFields[i].Manager == manager {
			return &web.ManagedFields[i]
		}
	}
	return &metav1.ManagedFieldsEntry{}
}

// TestContractAdmission: of many ways to take a field of the contract or to write in the name of its managers, the policies
// deny each, and what others do every day goes on.
func TestContractAdmission(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	attacks, ordinary := append(s.nameAttacks(t), s.fieldAttacks(t)...), s.ordinary(t)
	if len(attacks) < 20 {
		t.Errorf("%d attacks, want 20 at least", len(attacks))
	}
	for _, w := range append(attacks, ordinary...) {
		s.applied(t)
		switch err := w.send(); {
		case w.denied && !deniedFor(err):
			t.Errorf("%s: %s, want denied with what to do", w.reason, errorText(err))
		case !w.denied && err != nil:
			t.Errorf("%s: %v", w.reason, err)
		}
	}
	if replicas := kit.LiveReplicas(t, s.admin, s.namespace, "web"); replicas != 2 {
		t.Errorf("%d replicas, want the controller's 2", replicas)
	}
}

// nameAttacks write in the name of a field manager of the contract, or rewrite its managed fields.
func (s *shop) nameAttacks(t *testing.T) []attempt {
	t.Helper()
	const replicas = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3}}`
	return []attempt{
		{"apply as a manager of the contract", true, func() error {
			return s.patch(t, s.person, types.ApplyPatchType, replicas, client.FieldOwner("shop-power"), client.ForceOwnership)
		}},
		{"patch as a manager of the contract", true, func() error {
			return s.merge(t, s.person, `{"spec":{"paused":true}}`, client.FieldOwner("shop-web"))
		}},
		{"the name as a User-Agent", true, func() error { return s.merge(t, s.agent, `{"spec":{"paused":true}}`) }},
		{"scale as a manager of the contract", true, func() error {
			return s.person.SubResource("scale").Patch(t.Context(), s.web(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)),
				client.FieldOwner("shop-power"))
		}},
		{"status as a manager of the contract", true, func() error {
			return s.person.Status().Patch(t.Context(), s.web(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`)),
				client.FieldOwner("shop-web"))
		}},
		{"a manager of the contract to which the right does not extend", true, func() error {
			return s.merge(t, s.granted, `{"spec":{"paused":true}}`, client.FieldOwner("shop-web"))
		}},
		{"drop all managed fields", true, func() error { return s.merge(t, s.person, `{"metadata":{"managedFields":[{}]}}`) }},
		{"drop them and change a label", true, func() error {
			return s.merge(t, s.person, `{"metadata":{"labels":{"x":"y"},"managedFields":[{}]}}`)
		}},
		{"rename an entry", true, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) { entryOf(web, "shop-power").Manager = "person" })
		}},
		{"take a part of an entry", true, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) {
				entryOf(web, "shop-web").FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:selector":{}}}`)
			})
		}},
		{"make a manager own more, to be deleted by its next apply", true, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) {
				entryOf(web, "shop-power").FieldsV1 = metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{},"f:paused":{}}}`)
			})
		}},
	}
}

// fieldAttacks take fields of the contract under names of their own.
func (s *shop) fieldAttacks(t *testing.T) []attempt {
	t.Helper()
	container := func(image string) string {
		return `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"` + image + `"}]}}}}`
	}
	apply := func(body string, opts ...client.PatchOption) error {
		return s.patch(t, s.person, types.ApplyPatchType, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},`+body[1:], append(opts, client.FieldOwner("person"))...)
	}
	return []attempt{
		{"replicas by a merge patch", true, func() error { return s.merge(t, s.person, `{"spec":{"replicas":5}}`) }},
		{"replicas by an update", true, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) { web.Spec.Replicas = new(int32(5)) })
		}},
		{"replicas by a JSON patch", true, func() error {
			return s.patch(t, s.person, types.JSONPatchType, `[{"op":"replace","path":"/spec/replicas","value":5}]`)
		}},
		{"replicas removed", true, func() error {
			return s.patch(t, s.person, types.JSONPatchType, `[{"op":"remove","path":"/spec/replicas"}]`)
		}},
		{"replicas by force", true, func() error { return apply(`{"spec":{"replicas":5}}`, client.ForceOwnership) }},
		{"the same replicas, to own them as well", true, func() error { return apply(`{"spec":{"replicas":2}}`) }},
		{"an image by a strategic merge patch", true, func() error {
			return s.patch(t, s.person, types.StrategicMergePatchType, container("other:1"))
		}},
		{"an image by force", true, func() error { return apply(container("other:1"), client.ForceOwnership) }},
		{"all containers replaced", true, func() error {
			return s.merge(t, s.person, strings.Replace(container("other:1"), `"web"`, `"other"`, 1))
		}},
		{"a forged entry that owns the replicas", true, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) {
				web.ManagedFields = append(web.ManagedFields, metav1.ManagedFieldsEntry{
					Manager: "forged", Operation: metav1.ManagedFieldsOperationApply, APIVersion: "apps/v1",
					FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
				})
			})
		}},
		{"a finalizer of the contract", true, func() error {
			return s.merge(t, s.person, `{"metadata":{"finalizers":["shop.example.com/clean-up"]}}`)
		}},
		{"another field manager of the contract", true, func() error {
			return s.patch(t, s.granted, types.ApplyPatchType, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},`+container("other:1")[1:],
				client.FieldOwner("shop-power"), client.ForceOwnership)
		}},
		{"an object of which the selector says that it is the contract's", true, func() error {
			return s.create(t, "db", map[string]string{"app": "db"})
		}},
	}
}

// ordinary is what others do every day, and what administrators allow.
func (s *shop) ordinary(t *testing.T) []attempt {
	t.Helper()
	return []attempt{
		{"an annotation", false, func() error { return s.merge(t, s.person, `{"metadata":{"annotations":{"x":"y"}}}`) }},
		{"a label beside those of the contract", false, func() error { return s.merge(t, s.person, `{"metadata":{"labels":{"x":"y"}}}`) }},
		{"a field outside of the contract", false, func() error { return s.merge(t, s.person, `{"spec":{"revisionHistoryLimit":3}}`) }},
		{"a container beside that of the contract", false, func() error {
			return s.patch(t, s.person, types.StrategicMergePatchType, `{"spec":{"template":{"spec":{"containers":[{"name":"log","image":"log:1"}]}}}}`)
		}},
		{"a finalizer of somebody else", false, func() error { return s.merge(t, s.person, `{"metadata":{"finalizers":["example.com/mine"]}}`) }},
		{"the whole object as it was read", false, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) { web.Annotations = map[string]string{"seen": "yes"} })
		}},
		{"the whole object without managed fields", false, func() error {
			return s.put(t, s.person, func(web *appsv1.Deployment) {
				web.ManagedFields, web.Annotations = nil, map[string]string{"seen": "no"}
			})
		}},
		{"a status", false, func() error {
			return s.person.Status().Patch(t.Context(), s.web(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`)))
		}},
		{"a Deployment of somebody else", false, func() error {
			other := s.web()
			other.Name, other.Spec = "other", kit.WebDeployment(4).Spec
			return s.person.Create(t.Context(), other)
		}},
		{"a StatefulSet that the selector leaves out", false, func() error {
			return s.create(t, "test-db", map[string]string{"app": "db", "tier": "test"})
		}},
		{"the right to one name: its field", false, func() error { return s.merge(t, s.granted, `{"spec":{"replicas":3}}`) }},
		{"an administrator", false, func() error { return s.merge(t, s.admin, `{"spec":{"replicas":3}}`) }},
		{"a write after an administrator took a field", false, func() error {
			if err := s.merge(t, s.admin, `{"spec":{"replicas":3}}`, client.FieldOwner("person")); err != nil {
				return err
			}
			return s.merge(t, s.person, `{"spec":{"replicas":6},"metadata":{"annotations":{"after":"all"}}}`, client.FieldOwner("person"))
		}},
		{"scale, which a policy cannot judge", false, func() error {
			return s.person.SubResource("scale").Patch(t.Context(), s.web(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":4}}`)))
		}},
		{"the controller gives a field up", false, func() error {
			return s.patch(t, s.controller, types.ApplyPatchType, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`, client.FieldOwner("shop-power"))
		}},
		{"the controller takes it back", false, func() error {
			s.applied(t)
			if owners := kit.OwnersOf(t, s.admin, s.namespace, "web", ".spec.replicas"); len(owners) != 1 || owners[0] != "shop-power/Apply" {
				return fmt.Errorf("the owners are %q, want shop-power alone", owners)
			}
			return nil
		}},
	}
}

// TestContractAdmissionOfManyManagers: the policies stay within the budget of the API server for an object with many field
// managers and a contract with many fields.
func TestContractAdmissionOfManyManagers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 64 {
		body := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","annotations":{"a%d":"b"}}}`, i)
		if err := s.patch(t, s.person, types.ApplyPatchType, body, client.FieldOwner(fmt.Sprintf("team-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	web := s.web()
	if err := s.admin.Get(t.Context(), client.ObjectKeyFromObject(web), web); err != nil {
		t.Fatal(err)
	}
	if ownership, err := fieldowners.Parse(web.ManagedFields); err != nil || len(ownership.Entries()) < 66 {
		t.Fatalf("%d managers, %v", len(web.ManagedFields), err)
	}
	if err := s.merge(t, s.person, `{"metadata":{"annotations":{"x":"y"}}}`); err != nil {
		t.Error(err)
	}
	if err := s.merge(t, s.person, `{"spec":{"replicas":5}}`); !deniedFor(err) {
		t.Error(errorText(err))
	}
}
