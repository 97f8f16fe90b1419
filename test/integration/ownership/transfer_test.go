package ownership

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// managersIn lists the managers that have an entry, sorted.
func managersIn(t testing.TB, object client.Object) (names []string) {
	t.Helper()
	ownership, err := fieldowners.Parse(object.GetManagedFields())
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ownership.Entries() {
		names = append(names, entry.Manager.String())
	}
	return names
}

// TestMigrateLetsGo applies an intent without a label and a variable that client-side
// kubectl created: they go if its fields were migrated, and stay for ever if not.
func TestMigrateLetsGo(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	for name, migrated := range map[string]bool{"migrated": true, "plain": false} {
		var live appsv1.Deployment
		kit.CreateClientSide(t, c, kit.WithEnv(name, namespace), &live)
		before := kit.LiveAt(t, c, kit.DeploymentRef(namespace, name))
		if migrated {
			transfer, err := ownership.Migrate(t.Context(), us, kit.DeploymentRef(namespace, name), ownership.From{Manager: kit.ClientSide})
			kit.Transferred(t, transfer, err)
			after := kit.LiveAt(t, c, kit.DeploymentRef(namespace, name))
			if diff := cmp.Diff(kit.WithoutManagedFields(before), kit.WithoutManagedFields(after)); diff != "" {
				t.Errorf("migrating changed values:\n%s", diff)
			}
		}
		if _, err := us.Apply(t.Context(), apply.Intent{Config: kit.Deployment(name, namespace, "v1")}); err != nil {
			t.Fatal(err)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(&live), &live); err != nil {
			t.Fatal(err)
		}
		if gone := live.Labels["team"] == "" && len(live.Spec.Template.Spec.Containers[0].Env) == 0; gone != migrated {
			t.Errorf("%s: labels %v, env %v", name, live.Labels, live.Spec.Template.Spec.Containers[0].Env)
		}
		if live.Annotations[corev1.LastAppliedConfigAnnotation] == "" {
			t.Errorf("%s: kubectl's annotation was deleted", name)
		}
	}
}

// TestMigrateOwn has a controller go over from get-modify-update to intents under its
// own name.
func TestMigrateOwn(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	var object corev1.ConfigMap
	object.Namespace, object.Name, object.Data = namespace, "a", map[string]string{"k": "v", "gone": "x"}
	if err := c.Create(t.Context(), &object, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	transfer, err := ownership.Migrate(t.Context(), us, kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a"), ownership.From{Manager: "us"})
	kit.Transferred(t, transfer, err)
	if _, err := us.Apply(t.Context(), apply.Intent{Config: corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": "v"})}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(&object), &object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"k": "v"}, object.Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"us/Apply"}, managersIn(t, &object)); diff != "" {
		t.Errorf("managers (-want +got):\n%s", diff)
	}
}

// TestMigrateAsCSAUpgrade takes client-go's csaupgrade for an oracle where both do
// the same: one apiVersion, no annotation of kubectl's.
func TestMigrateAsCSAUpgrade(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, prepare := range map[string]func(*testing.T, client.Object){
		"new": func(*testing.T, client.Object) {},
		"us": func(t *testing.T, _ client.Object) {
			if err := c.Apply(t.Context(), kit.Deployment("us", namespace, "v1"), client.FieldOwner("us")); err != nil {
				t.Fatal(err)
			}
		},
		"status": func(t *testing.T, object client.Object) {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":1}}`))
			if err := c.Status().Patch(t.Context(), object, patch, client.FieldOwner("old")); err != nil {
				t.Fatal(err)
			}
		},
	} {
		var object appsv1.Deployment
		raw, _ := json.Marshal(kit.WithEnv(name, namespace))
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &object, client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		prepare(t, &object)
		oracle := kit.LiveAt(t, c, kit.DeploymentRef(namespace, name))
		for _, subresource := range []string{"", "status"} {
			if err := csaupgrade.UpgradeManagedFields(oracle, sets.New("old"), "us", csaupgrade.Subresource(subresource)); err != nil {
				t.Fatal(err)
			}
		}
		transfer, err := ownership.Migrate(t.Context(), kit.NewApplier(t, c, "us", apply.Policy{}), kit.DeploymentRef(namespace, name), ownership.From{Manager: "old"})
		kit.Transferred(t, transfer, err)
		ours := kit.LiveAt(t, c, kit.DeploymentRef(namespace, name))
		if diff := cmp.Diff(kit.FieldsBy(t, oracle.GetManagedFields()), kit.FieldsBy(t, ours.GetManagedFields())); diff != "" {
			t.Errorf("%s: owners (-csaupgrade +ours):\n%s", name, diff)
		}
	}
}

// TestMigrateBeforeFirstApply has an object whose managed fields were wiped: the
// next apply finds a phantom owner of all.
func TestMigrateBeforeFirstApply(t *testing.T) {
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	us := kit.NewApplier(t, c, "us", apply.Policy{})
	var live appsv1.Deployment
	kit.CreateClientSide(t, c, kit.WithEnv("a", namespace), &live)
	wipe := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`))
	if err := c.Patch(t.Context(), &live, wipe); err != nil {
		t.Fatal(err)
	}
	if len(live.ManagedFields) != 0 {
		t.Fatalf("not wiped: %v", managersIn(t, &live))
	}
	transfer, err := ownership.Migrate(t.Context(), us, kit.DeploymentRef(namespace, "a"), ownership.From{Manager: "before-first-apply"})
	if err != nil || len(transfer.Moves()) != 0 {
		t.Errorf("before the first apply nobody is known to own anything: %v %v", transfer, err)
	}
	if undo, err := transfer.Do(t.Context()); err != nil || len(undo.Moves()) != 0 {
		t.Errorf("moving nothing: %v %v", undo, err)
	}
	if _, err := us.Apply(t.Context(), apply.Intent{Config: kit.WithEnv("a", namespace)}); err != nil {
		t.Fatal(err)
	}
	transfer, err = ownership.Migrate(t.Context(), us, kit.DeploymentRef(namespace, "a"), ownership.From{Manager: "before-first-apply"})
	kit.Transferred(t, transfer, err)
	if _, err := us.Apply(t.Context(), apply.Intent{Config: kit.Deployment("a", namespace, "v1")}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(&live), &live); err != nil {
		t.Fatal(err)
	}
	if env := live.Spec.Template.Spec.Containers[0].Env; live.Labels["team"] != "" || len(env) != 0 {
		t.Errorf("labels %v, env %v stayed", live.Labels, env)
	}
	left := kit.FieldsBy(t, live.ManagedFields)
	left = slices.DeleteFunc(left, func(line string) bool { return !strings.Contains(line, "before-first-apply") })
	want := []string{`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] before-first-apply/Update apps/v1`}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left with before-first-apply (-want +got):\n%s", diff)
	}
}
