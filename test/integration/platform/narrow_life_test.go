package platform

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// narrowLife is an object of one of our kinds as helm applies it: every field of its spec
// in a spelling that our Go types do not write, or with a value that they leave out.
type narrowLife struct {
	kind, spec, change string
	settled            func(status map[string]any) bool // the platform has done all that it does for now
}

var narrowLives = []narrowLife{
	{"Devbox", `
image: registry.example.com/devbox:1
state: Running
resources:
  requests: {cpu: 1000m, memory: 1024Mi, ephemeral-storage: "0.5Gi"}
  limits: {cpu: "2.0", memory: 2048Mi, ephemeral-storage: "1e9"}
network: {type: ClusterIP, port: 22}
`, `{resources: {requests: {cpu: "500e-3", memory: 512Mi, ephemeral-storage: "0.5Gi"}, limits: {cpu: "2.0", memory: 2048Mi, ephemeral-storage: "1e9"}}}`,
		hasTrue("WorkloadApplied", "NetworkApplied", "PowerApplied")},
	{"User", `displayName: ""`, `{displayName: Ada}`, hasTrue("Applied")},
	{"License", `
notBefore: "2024-01-01T02:00:00+02:00"
notAfter: "2099-01-01T00:00:00.5Z"
limits: {cpu: 1000m, memory: 1024Mi, pods: 2, requests.storage: "1e3"}
`, `{limits: {cpu: 3000m, memory: 1024Mi, pods: 2, requests.storage: "1e3"}}`, hasTrue("Applied")},
	{"NodeMaintenance", `
action: Cordon
nodes: [no-such-node]
strategy: Apply
concurrency: 1
nodeDeadlineSeconds: 30
force: false
reason: ""
`, "", func(status map[string]any) bool { return status["completionTime"] != nil }},
	{"SlurmController", `
image: registry.example.com/slurmctld:1
port: 6817
resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {memory: 2048Mi}}
`, `{resources: {requests: {cpu: 2000m, memory: 1024Mi}, limits: {memory: 2048Mi}}}`, hasTrue("Applied")},
	{"NodeSet", `
controllerName: "life"
replicas: 0
maxUnavailable: 1
image: registry.example.com/slurmd:1
resources: {requests: {cpu: 1000m, memory: 1024Mi}, limits: {memory: 2048Mi}}
`, `{resources: {requests: {cpu: 2000m, memory: 1024Mi}, limits: {memory: 2048Mi}}}`,
		func(status map[string]any) bool { return status["conditions"] != nil }},
}

func hasTrue(types ...string) func(map[string]any) bool {
	return func(status map[string]any) bool {
		for _, conditionType := range types {
			conditions, _ := status["conditions"].([]any)
			if !slices.ContainsFunc(conditions, func(c any) bool {
				condition, _ := c.(map[string]any)
				return condition["type"] == conditionType && condition["status"] == "True"
			}) {
				return false
			}
		}
		return true
	}
}

// TestNarrowLives: through a full life under the platform (finalizer, status, change,
// deletion) helm owns what it applied, in each version of the object that there ever was,
// and its next apply meets no conflict.
func TestNarrowLives(t *testing.T) {
	t.Parallel()
	p := kit.WholePlatform(t)
	kit.InstallRBAC(t, p.Client, "devbox_editor_role.yaml", &rbacv1.ClusterRole{})
	namespace, name := kit.NewNamespace(t, p.Client), kit.Unique("narrow-life")
	watching, err := client.NewWithWatch(p.Config(), client.Options{Scheme: kit.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	for _, life := range narrowLives { // one after another: a License wants its User
		if life.kind == "License" {
			continue
		}
		t.Run(life.kind, func(t *testing.T) {
			end := life.begin(t, watching, namespace, name)
			if life.kind == "User" {
				license := narrowLives[slices.IndexFunc(narrowLives, func(l narrowLife) bool { return l.kind == "License" })]
				license.begin(t, watching, namespace, name)()
			}
			end()
		})
	}
}

// begin makes the object and changes it; end deletes it, and looks at all that was seen.
func (l narrowLife) begin(t *testing.T, c client.WithWatch, namespace, name string) (end func()) {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(l.kind))
	object.SetName(name)
	if namespaced, err := c.IsObjectNamespaced(object); err != nil {
		t.Fatal(err)
	} else if namespaced {
		object.SetNamespace(namespace)
	}
	spec := map[string]any{}
	l.merge(t, spec, l.spec)
	object.Object["spec"] = spec

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(l.kind + "List"))
	versions, err := c.Watch(t.Context(), list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
	if err != nil {
		t.Fatal(err)
	}
	l.apply(t, c, object)
	l.settle(t, c, object)
	l.apply(t, c, object) // as it is: no conflict
	if l.change != "" {
		l.merge(t, spec, l.change)
		l.apply(t, c, object)
		l.settle(t, c, object)
	}
	return func() {
		l.apply(t, c, object)
		if err := c.Delete(t.Context(), object.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		l.checkVersions(t, versions)
	}
}

func (l narrowLife) merge(t *testing.T, into map[string]any, text string) {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	parsed := &unstructured.Unstructured{Object: map[string]any{}}
	if err := parsed.UnmarshalJSON(slices.Concat([]byte(`{"kind":"x","apiVersion":"x","spec":`), encoded, []byte(`}`))); err != nil {
		t.Fatal(err)
	}
	maps.Copy(into, parsed.Object["spec"].(map[string]any))
}

// apply is helm's, and is not forced.
func (l narrowLife) apply(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(object.DeepCopy()), client.FieldOwner("helm"))
	if err != nil {
		t.Fatalf("helm's apply: %v", err)
	}
}

func (l narrowLife) settle(t *testing.T, c client.Client, object *unstructured.Unstructured) {
	t.Helper()
	kit.WaitFor(t, l.kind+" is settled", func() string {
		live := object.DeepCopy()
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), live); err != nil {
			return err.Error()
		}
		if status, _ := live.Object["status"].(map[string]any); !l.settled(status) {
			return fmt.Sprint(live.Object)
		}
		return ""
	})
}

// checkVersions looks at each version of the object, until it is gone: helm's fields are
// those of the first one.
func (l narrowLife) checkVersions(t *testing.T, versions watch.Interface) {
	t.Helper()
	var first []byte
	ours := map[string]bool{}
	seen := 0
	for event := range versions.ResultChan() {
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			t.Fatal(apierrors.FromObject(event.Object))
		}
		var helm []byte
		for _, entry := range object.GetManagedFields() {
			if entry.Manager == "helm" && entry.Operation == metav1.ManagedFieldsOperationApply {
				helm = entry.FieldsV1.GetRawBytes()
			} else if strings.HasPrefix(entry.Manager, "coapply") {
				ours[entry.Manager] = true
				if bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:spec"`)) {
					t.Errorf("%s owns of the spec: %s", entry.Manager, entry.FieldsV1.GetRawBytes())
				}
			}
		}
		if seen++; first == nil {
			first = helm
		}
		if !bytes.Equal(first, helm) {
			t.Errorf("version %s: helm owns %s\nand had %s", object.GetResourceVersion(), helm, first)
		}
		if event.Type == watch.Deleted {
			break
		}
	}
	versions.Stop()
	if len(ours) == 0 || seen < 3 {
		t.Errorf("%d versions, written to by %v: nothing was tried", seen, ours)
	}
}
