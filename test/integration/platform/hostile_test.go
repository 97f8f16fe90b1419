package platform

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

var clusterScoped = map[string]bool{"User": true, "License": true, "NodeMaintenance": true}

// manifest returns an object of ours from the YAML of its spec.
func manifest(t *testing.T, kind, namespace, name, text string) *unstructured.Unstructured {
	t.Helper()
	var spec any
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		object.Object["spec"] = spec
	}
	object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind))
	object.SetName(name)
	if !clusterScoped[kind] {
		object.SetNamespace(namespace)
	}
	return object
}

// TestRefused: what cannot work is refused when it is made, not found out by a
// reconciler, and the answer says what is wrong.
func TestRefused(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	kinds := map[string]int{}
	for _, test := range refused {
		kinds[test.kind]++
		object := manifest(t, test.kind, namespace, test.name, test.spec)
		err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict"))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s, %s: %s\nwant %q", test.kind, test.reason, shortened(err), test.want)
		}
	}
	if len(kinds) != 6 {
		t.Errorf("kinds %v, want all six", kinds)
	}
}

func TestAccepted(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	for _, test := range accepted {
		object := manifest(t, test.kind, namespace, test.name, test.spec)
		if err := c.Create(t.Context(), object, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
			t.Errorf("%s, %s: %s", test.kind, test.reason, shortened(err))
		}
	}
}

func shortened(err error) string {
	if err == nil {
		return "accepted"
	}
	text := err.Error()
	return text[:min(len(text), 600)]
}

// TestWorkCannotBeChanged: neither by a spec that says something else nor by one that
// no longer says it.
func TestWorkCannotBeChanged(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	work := manifest(t, "NodeMaintenance", "", "unchangeable", `{action: Cordon, nodes: [absent-node]}`)
	if err := c.Create(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Delete(context.Background(), work) })
	for _, patch := range []string{
		`{"spec":{"action":"Uncordon"}}`,
		`{"spec":{"nodes":["absent-node","other"]}}`,
		`{"spec":{"nodes":null,"nodeSelector":{"matchLabels":{"a":"b"}}}}`,
		`{"spec":{"concurrency":6}}`,
	} {
		err := c.Patch(t.Context(), work.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch)), client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), "the spec of a NodeMaintenance is immutable") {
			t.Errorf("%s: %s", patch, shortened(err))
		}
	}
}

// TestStatusThroughTheMainResource is dropped, for every kind: a person who may write
// an object cannot say what became of it.
func TestStatusThroughTheMainResource(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Cluster(t).Config())
	namespace := kit.NewNamespace(t, c)
	for kind, spec := range map[string]string{
		"Devbox": `image: a`, "NodeSet": `image: a`, "SlurmController": `image: a`,
		"User": `{}`, "License": `limits: {pods: 1}`, "NodeMaintenance": `{action: Cordon, nodes: [absent-node]}`,
	} {
		object := manifest(t, kind, namespace, "forged-status", spec)
		object.Object["status"] = map[string]any{"phase": "Running", "namespace": "kube-system", "total": int64(5)}
		if err := c.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s: %s", kind, shortened(err))
		}
		untouched := map[string]any{"observedGeneration": int64(-1)} // the default: nobody has looked
		if status := object.Object["status"]; !reflect.DeepEqual(status, untouched) {
			t.Errorf("%s: the status is %v", kind, status)
		}
	}
}
