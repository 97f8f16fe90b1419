package plugin

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// TestManagedFieldsThatWereEmptied: nobody owns a field of such a live object, which no command takes for an error, and each
// names the object.
func TestManagedFieldsThatWereEmptied(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	config := "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: " + namespace + "}, data: {k: v}}"
	appliedFile(t, "ci", config)
	intent := writtenFile(t, "intent.yaml", config)
	live := kit.LiveAt(t, c, kit.RefTo(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, namespace, "a"))
	if err := c.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`))); err != nil {
		t.Fatal(err)
	}
	name := "ConfigMap " + namespace + "/a"
	for _, test := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"get configmap/a", "# " + name + "\n# managedFields absent: the API server has none\n", name + ": managedFields absent: the API server has none\n", 0},
		{"get configmap/a -o html", "The API server has none.", name + ": managedFields absent: the API server has none\n", 0},
		{"audit configmaps --field-selector metadata.name=a", "", "managedFields absent on 1 of 1 objects (" + name + "): the API server has none\n", 0},
		{"check --field-manager ci -f " + intent, name + ": no conflict\n", "", 0},
	} {
		stdout, stderr, code := plugin(t, append(strings.Fields(test.args), "-n", namespace)...)
		if code != test.code || !strings.Contains(stdout, test.stdout) || !strings.HasPrefix(stderr, test.stderr) {
			t.Errorf("%s: exit code %d\n%s%s", test.args, code, stdout, stderr)
		}
	}
}
