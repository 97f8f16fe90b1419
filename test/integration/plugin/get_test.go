package plugin

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"coapply.dev/test/kit"
)

// TestGetKnowsThePaths: --path with a field that the server's schema does not have is an error that names the nearest one; a
// field that an object may have, and has not, is not.
func TestGetKnowsThePaths(t *testing.T) {
	t.Parallel()
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	group := strings.TrimPrefix(namespace, "test-") + ".example.com"
	crd := kit.Widgets(schema.GroupVersionKind{Group: group, Version: "v1", Kind: "Widget"})
	crd.Spec.Versions[0].Schema.OpenAPIV3Schema = &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"spec": {Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"size": {Type: "integer"}, "colour": {Type: "string"}, "any": {Type: "object", XPreserveUnknownFields: new(true)},
			"parts": {Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{Type: "string"}}},
		}},
	}}
	if _, err := kit.InstallCRDs(kit.Server(t), envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}); err != nil {
		t.Fatal(err)
	}
	appliedFile(t, "ci", "{apiVersion: "+group+"/v1, kind: Widget, metadata: {name: a, namespace: "+namespace+"}, spec: {size: 1}}")
	get := func(path string) (stdout, stderr string, code int) {
		return plugin(t, "widgets."+group+"/a", "-n", namespace, "--path", path)
	}
	kit.WaitFor(t, "the schema of the custom resource", func() string {
		_, stderr, code := get(".spec.sise")
		if code == 2 {
			return ""
		}
		return stderr
	})
	for _, test := range []struct {
		path, stderr string
		code         int
	}{
		{".spec.sise", "error: --path: Widget has no field .spec.sise (did you mean .spec.size?)\n", 2},
		{".spec.zzzzzz", "error: --path: Widget has no field .spec.zzzzzz; kubectl explain lists the fields of a kind\n", 2},
		{".spec.size.x", "error: --path: Widget has no field .spec.size.x: nothing lies below .spec.size\n", 2},
		{".spec.parts.x", "error: --path: Widget has no field .spec.parts.x: .spec.parts is a list, name an item of it: '.spec.parts[0].x'\n", 2},
		{".spec.colour", "No fields found: no object has a field .spec.colour.\n", 0},
		{".spec.any.sise", "No fields found: no object has a field .spec.any.sise.\n", 0},
		{".metadata.annotations.x", "No fields found: no object has a field .metadata.annotations.x.\n", 0},
		{".spec.size", "", 0},
	} {
		if stdout, stderr, code := get(test.path); stderr != test.stderr || code != test.code || (stdout == "") != (test.stderr != "") {
			t.Errorf("%s: exit code %d\n%s%s", test.path, code, stdout, stderr)
		}
	}
}
