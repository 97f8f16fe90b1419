package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
)

const clientSide = "kubectl-client-side-apply"

func refTo(kind schema.GroupVersionKind, namespace, name string) apply.ObjectRef {
	return apply.ObjectRef{GroupVersionKind: kind, NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func deploymentRef(namespace, name string) apply.ObjectRef {
	return refTo(appsv1.SchemeGroupVersion.WithKind("Deployment"), namespace, name)
}

func liveAt(t testing.TB, c client.Client, ref apply.ObjectRef) *unstructured.Unstructured {
	t.Helper()
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(ref.GroupVersionKind)
	if err := c.Get(t.Context(), ref.NamespacedName, live); err != nil {
		t.Fatal(err)
	}
	return live
}

// fieldsBy lists "PATH MANAGER/OPERATION[SUBRESOURCE] APIVERSION", sorted.
func fieldsBy(t testing.TB, entries []metav1.ManagedFieldsEntry) (lines []string) {
	t.Helper()
	ownership, err := fieldowners.Parse(entries)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range ownership.Entries() {
		for _, path := range entry.Fields() {
			lines = append(lines, fmt.Sprintf("%s %s %s", path, entry.Manager, entry.APIVersion))
		}
	}
	slices.Sort(lines)
	return lines
}

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

func withoutManagedFields(object *unstructured.Unstructured) map[string]any {
	copied := object.DeepCopy()
	copied.SetManagedFields(nil)
	copied.SetResourceVersion("")
	return copied.Object
}

// createClientSide is what kubectl apply without --server-side does.
func createClientSide(t testing.TB, c client.Client, config runtime.ApplyConfiguration, into client.Object) {
	t.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
	annotations := into.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[corev1.LastAppliedConfigAnnotation] = string(raw)
	into.SetAnnotations(annotations)
	if err := c.Create(t.Context(), into, client.FieldOwner(clientSide)); err != nil {
		t.Fatal(err)
	}
}

func transferred(t testing.TB, transfer *apply.Transfer, err error) (undo *apply.Transfer) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(transfer.Moves()) == 0 {
		t.Fatalf("nothing to move: %v", transfer)
	}
	undo, err = transfer.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return undo
}

// withEnv is the deployment with a label and two variables.
func withEnv(name, namespace string) *appsv1ac.DeploymentApplyConfiguration {
	config := deployment(name, namespace, "v1").WithLabels(map[string]string{"team": "shop"})
	config.Spec.Template.Spec.Containers[0].WithEnv(
		corev1ac.EnvVar().WithName("A").WithValue("1"), corev1ac.EnvVar().WithName("B").WithValue("2"))
	return config
}

// TestMigrateLetsGo applies an intent without a label and a variable that client-side
// kubectl created: they go if its fields were migrated, and stay for ever if not.
func TestMigrateLetsGo(t *testing.T) {
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	us := newApplier(t, c, "us", apply.Policy{})
	for name, migrated := range map[string]bool{"migrated": true, "plain": false} {
		var live appsv1.Deployment
		createClientSide(t, c, withEnv(name, namespace), &live)
		before := liveAt(t, c, deploymentRef(namespace, name))
		if migrated {
			transfer, err := us.Migrate(t.Context(), deploymentRef(namespace, name), apply.From{Manager: clientSide})
			transferred(t, transfer, err)
			after := liveAt(t, c, deploymentRef(namespace, name))
			if diff := cmp.Diff(withoutManagedFields(before), withoutManagedFields(after)); diff != "" {
				t.Errorf("migrating changed values:\n%s", diff)
			}
		}
		if _, err := us.Apply(t.Context(), apply.Intent{Config: deployment(name, namespace, "v1")}); err != nil {
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
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	var object corev1.ConfigMap
	object.Namespace, object.Name, object.Data = namespace, "a", map[string]string{"k": "v", "gone": "x"}
	if err := c.Create(t.Context(), &object, client.FieldOwner("us")); err != nil {
		t.Fatal(err)
	}
	us := newApplier(t, c, "us", apply.Policy{})
	transfer, err := us.Migrate(t.Context(), refTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a"), apply.From{Manager: "us"})
	transferred(t, transfer, err)
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
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	for name, prepare := range map[string]func(*testing.T, client.Object){
		"new": func(*testing.T, client.Object) {},
		"us": func(t *testing.T, _ client.Object) {
			if err := c.Apply(t.Context(), deployment("us", namespace, "v1"), client.FieldOwner("us")); err != nil {
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
		raw, _ := json.Marshal(withEnv(name, namespace))
		if err := json.Unmarshal(raw, &object); err != nil {
			t.Fatal(err)
		}
		if err := c.Create(t.Context(), &object, client.FieldOwner("old")); err != nil {
			t.Fatal(err)
		}
		prepare(t, &object)
		oracle := liveAt(t, c, deploymentRef(namespace, name))
		for _, subresource := range []string{"", "status"} {
			if err := csaupgrade.UpgradeManagedFields(oracle, sets.New("old"), "us", csaupgrade.Subresource(subresource)); err != nil {
				t.Fatal(err)
			}
		}
		transfer, err := newApplier(t, c, "us", apply.Policy{}).Migrate(t.Context(), deploymentRef(namespace, name), apply.From{Manager: "old"})
		transferred(t, transfer, err)
		ours := liveAt(t, c, deploymentRef(namespace, name))
		if diff := cmp.Diff(fieldsBy(t, oracle.GetManagedFields()), fieldsBy(t, ours.GetManagedFields())); diff != "" {
			t.Errorf("%s: owners (-csaupgrade +ours):\n%s", name, diff)
		}
	}
}

// TestMigrateBeforeFirstApply has an object whose managed fields were wiped: the
// next apply finds a phantom owner of all.
func TestMigrateBeforeFirstApply(t *testing.T) {
	c := newClient(t, server(t))
	namespace := newNamespace(t, c)
	us := newApplier(t, c, "us", apply.Policy{})
	var live appsv1.Deployment
	createClientSide(t, c, withEnv("a", namespace), &live)
	wipe := client.RawPatch(types.JSONPatchType, []byte(`[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]`))
	if err := c.Patch(t.Context(), &live, wipe); err != nil {
		t.Fatal(err)
	}
	if len(live.ManagedFields) != 0 {
		t.Fatalf("not wiped: %v", managersIn(t, &live))
	}
	transfer, err := us.Migrate(t.Context(), deploymentRef(namespace, "a"), apply.From{Manager: "before-first-apply"})
	if err != nil || len(transfer.Moves()) != 0 {
		t.Errorf("before the first apply nobody is known to own anything: %v %v", transfer, err)
	}
	if undo, err := transfer.Do(t.Context()); err != nil || len(undo.Moves()) != 0 {
		t.Errorf("moving nothing: %v %v", undo, err)
	}
	if _, err := us.Apply(t.Context(), apply.Intent{Config: withEnv("a", namespace)}); err != nil {
		t.Fatal(err)
	}
	transfer, err = us.Migrate(t.Context(), deploymentRef(namespace, "a"), apply.From{Manager: "before-first-apply"})
	transferred(t, transfer, err)
	if _, err := us.Apply(t.Context(), apply.Intent{Config: deployment("a", namespace, "v1")}); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(&live), &live); err != nil {
		t.Fatal(err)
	}
	if env := live.Spec.Template.Spec.Containers[0].Env; live.Labels["team"] != "" || len(env) != 0 {
		t.Errorf("labels %v, env %v stayed", live.Labels, env)
	}
	left := fieldsBy(t, live.ManagedFields)
	left = slices.DeleteFunc(left, func(line string) bool { return !strings.Contains(line, "before-first-apply") })
	want := []string{`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"] before-first-apply/Update apps/v1`}
	if diff := cmp.Diff(want, left); diff != "" {
		t.Errorf("left with before-first-apply (-want +got):\n%s", diff)
	}
}
