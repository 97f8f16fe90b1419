package platform

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers/fieldmanagers"
	"coapply.dev/test/kit"
)

// TestTakenIsPutBack: what somebody takes out of a status or of the finalizers is put
// back by the reconciler that wrote it, which then rests.
func TestTakenIsPutBack(t *testing.T) {
	t.Parallel()
	p := kit.WholePlatform(t)
	named := metav1.ObjectMeta{Name: kit.Unique("taken")}
	inside := metav1.ObjectMeta{Name: named.Name, Namespace: kit.NewNamespace(t, p.Client)}
	for _, object := range []client.Object{
		&v1alpha1.User{ObjectMeta: named},
		&v1alpha1.License{ObjectMeta: named, Spec: v1alpha1.LicenseSpec{Limits: corev1.ResourceList{"pods": kit.Quantity("3")}}},
		&v1alpha1.NodeMaintenance{ObjectMeta: named, Spec: v1alpha1.NodeMaintenanceSpec{
			Action: v1alpha1.Uncordon, NodeSelector: &v1alpha1.NodeSelector{MatchLabels: map[string]v1alpha1.LabelValue{"taken": "no-node-has-it"}}}},
		&v1alpha1.Devbox{ObjectMeta: inside, Spec: v1alpha1.DevboxSpec{Image: "registry.example.com/dev:1"}},
		&v1alpha1.SlurmController{ObjectMeta: inside, Spec: v1alpha1.SlurmControllerSpec{Image: "registry.example.com/slurmctld:1"}},
		&v1alpha1.NodeSet{ObjectMeta: inside, Spec: v1alpha1.NodeSetSpec{Image: "registry.example.com/slurmd:1", Replicas: new(int32(1))}},
	} {
		if err := p.Client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ kind, resource, patch string }{
		{"User", "users", `{"status":{"conditions":[]}}`},
		{"User", "users", `{"status":{"namespace":"mine"}}`},
		{"License", "licenses", `{"status":{"conditions":null}}`},
		{"License", "licenses", `{"metadata":{"finalizers":null}}`},
		{"NodeMaintenance", "nodemaintenances", `{"status":{"conditions":[]}}`},
		{"Devbox", "devboxes", `{"status":{"conditions":[]}}`},
		{"Devbox", "devboxes", `{"status":null}`},
		{"Devbox", "devboxes", `{"metadata":{"finalizers":["example.com/mine"]}}`},
		{"SlurmController", "slurmcontrollers", `{"status":{"serviceName":"mine"}}`},
		{"SlurmController", "slurmcontrollers", `{"status":null}`},
		{"NodeSet", "nodesets", `{"status":{"conditions":[],"replicas":7}}`},
	} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(test.kind))
		object.SetName(named.Name)
		if wide, err := p.Client.IsObjectNamespaced(object); err != nil {
			t.Fatal(err)
		} else if wide {
			object.SetNamespace(inside.Namespace)
		}
		rests(t, p, object)
		want := whatStands(object)
		before := writesTo(p, test.resource, named.Name)
		patch := client.RawPatch("application/merge-patch+json", []byte(test.patch))
		var err error
		if strings.HasPrefix(test.patch, `{"status"`) {
			err = p.Client.Status().Patch(t.Context(), object, patch, client.FieldOwner("somebody"))
		} else {
			err = p.Client.Patch(t.Context(), object, patch, client.FieldOwner("somebody"))
		}
		if err != nil {
			t.Fatal(err)
		}
		kit.WaitFor(t, test.kind+" after "+test.patch, func() string {
			if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
				return err.Error()
			}
			return cmp.Diff(want, whatStands(object))
		})
		rests(t, p, object)
		if n := writesTo(p, test.resource, named.Name) - before; n == 0 || n > 8 {
			t.Errorf("%s after %s: put back with %d writes", test.kind, test.patch, n)
		}
	}
}

// whatStands is what has to be put back; times are when that was.
func whatStands(object *unstructured.Unstructured) map[string]any {
	status, _, _ := unstructured.NestedMap(object.Object, "status")
	conditions, _, _ := unstructured.NestedSlice(status, "conditions")
	byType := map[string]any{}
	for _, c := range conditions {
		condition := c.(map[string]any)
		delete(condition, "lastTransitionTime")
		byType[condition["type"].(string)] = condition
	}
	delete(status, "completionTime")
	delete(status, "startTime")
	delete(status, "conditions")
	ours := slices.DeleteFunc(object.GetFinalizers(), func(f string) bool { return !strings.HasPrefix(f, "platform.coapply.dev/") })
	return map[string]any{"status": status, "conditions": byType, "finalizers": fmt.Sprint(ours)}
}

// rests waits until an object is as its reconcilers want it, which is when nobody has
// written to it for a while, and no condition is on its way.
func rests(t *testing.T, p *kit.Platform, object *unstructured.Unstructured) {
	t.Helper()
	last := ""
	since := time.Now()
	kit.WaitFor(t, "nobody writes to "+object.GetName(), func() string {
		if err := p.Client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err.Error()
		}
		if object.GetResourceVersion() != last {
			last, since = object.GetResourceVersion(), time.Now()
		}
		if time.Since(since) < time.Second {
			return "it has just been written to"
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		onItsWay := func(c any) bool { return c.(map[string]any)["status"] == string(metav1.ConditionUnknown) }
		if len(conditions) == 0 || slices.ContainsFunc(conditions, onItsWay) {
			return fmt.Sprint("conditions are ", conditions)
		}
		return ""
	})
}

func writesTo(p *kit.Platform, resource, name string) int {
	return len(p.Writes.About("/" + resource + "/" + name))
}

// TestOwnershipAloneWakesPower: nothing but managed fields changes.
func TestOwnershipAloneWakesPower(t *testing.T) {
	t.Parallel()
	p := kit.StartPlatform(t, apply.Reject)
	p.Create(t, "box")
	waitForPhase(t, p, "box", v1alpha1.PhaseRunning)
	owners := func() []string { return kit.OwnersOf(t, p.Client, p.Namespace, "box", ".spec.replicas") }
	power := fieldmanagers.DevboxPower + "/Apply"

	t.Log("the field is given to another manager")
	rewriteManagedFields(t, p, "box", func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		for i := range entries {
			if entries[i].Manager == fieldmanagers.DevboxPower {
				entries[i].Manager = "thief"
			}
		}
		return entries
	})
	kit.WaitFor(t, "power owns it again", func() string {
		if got := owners(); !slices.Contains(got, power) {
			return fmt.Sprint(got)
		}
		return ""
	})

	t.Log("another manager sets it, and lets go of it")
	set(t, p, "box", v1alpha1.DevboxStopped)
	kit.WaitFor(t, "the thief is in the way", func() string { return unlessPower(t, p, metav1.ConditionFalse) })
	rewriteManagedFields(t, p, "box", func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
		return slices.DeleteFunc(entries, func(entry metav1.ManagedFieldsEntry) bool { return entry.Manager == "thief" })
	})
	kit.WaitFor(t, "power has stopped it", func() string { return unlessPower(t, p, metav1.ConditionTrue) })
}

func unlessPower(t *testing.T, p *kit.Platform, want metav1.ConditionStatus) string {
	t.Helper()
	box := p.Get(t, "box", &v1alpha1.Devbox{}).(*v1alpha1.Devbox)
	for _, condition := range box.Status.Conditions {
		if condition.Type == v1alpha1.ConditionPowerApplied && condition.Status == want && condition.ObservedGeneration == box.Generation {
			return ""
		}
	}
	return fmt.Sprint(box.Status.Conditions)
}

// rewriteManagedFields changes nothing else of a Deployment.
func rewriteManagedFields(t *testing.T, p *kit.Platform, name string, change func([]metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry) {
	t.Helper()
	kit.WaitFor(t, "managed fields are rewritten", func() string {
		deployment := p.Get(t, name, &appsv1.Deployment{}).(*appsv1.Deployment)
		entries := change(deployment.ManagedFields)
		patch, err := json.Marshal([]map[string]any{
			{"op": "test", "path": "/metadata/resourceVersion", "value": deployment.ResourceVersion},
			{"op": "replace", "path": "/metadata/managedFields", "value": entries},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Client.Patch(t.Context(), deployment, client.RawPatch("application/json-patch+json", patch)); err != nil {
			return err.Error()
		}
		return ""
	})
}
