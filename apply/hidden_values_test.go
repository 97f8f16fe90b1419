package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/apply/internal/hidden"
	"coapply.dev/fieldowners"
)

func TestIsHiddenOfASecret(t *testing.T) {
	secret := ObjectRef{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}
	if !hidden.Is(secret.GroupKind(), fieldowners.MustParsePath(".metadata.labels.a")) {
		t.Error("a Secret's label is shown")
	}
}

func TestHiddenValues(t *testing.T) {
	kind := func(group, kind string) ObjectRef {
		return ObjectRef{GroupVersionKind: schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind}}
	}
	deployment := kind("apps", "Deployment")
	container := `.spec.template.spec.containers[name="a"]`
	for _, test := range []struct {
		reason string
		object ObjectRef
		path   string
		value  any
		want   bool
	}{
		{"an image", deployment, container + ".image", "secret", false},
		{"a variable", deployment, container + `.env[name="P"].value`, "secret", true},
		{"arguments", deployment, container + ".args", []any{"secret"}, true},
		{"data of any kind", kind("example.com", "Vault"), ".spec.data.password", "secret", true},
		{"a list owned as a whole, with variables below", kind("example.com", "Job"), ".spec.containers", []any{map[string]any{"env": "secret"}}, true},
		{"a label that is called so", kind("example.com", "Job"), `.metadata.labels["database"]`, "secret", false},
		{"a ConfigMap", kind("", "ConfigMap"), ".data.k", "secret", false},
		{"a ConfigMap's values, whatever their names", kind("", "ConfigMap"), ".data", map[string]any{"env": "secret"}, false},
		{"values of another kind of the same group", kind("", "Pod"), ".spec.containers", []any{map[string]any{"env": "secret"}}, true},
		{"another group's values", kind("example.com", "ConfigMap"), ".spec.containers", []any{map[string]any{"env": "secret"}}, true},
		{"a map of nothing delicate", kind("", "Pod"), ".spec.list", []any{map[string]any{"image": "secret"}}, false},
		{"data of the core group", kind("", "Pod"), ".spec.data", "secret", true},
		{"another group's ConfigMap", kind("example.com", "ConfigMap"), ".data.k", "secret", true},
		{"a Secret", kind("", "Secret"), ".metadata.labels.a", "secret", true},
	} {
		path := fieldowners.MustParsePath(test.path)
		isHidden := hidden.Is(test.object.GroupKind(), path, test.value)
		conflict := Conflict{Object: test.object, Path: path, Ours: test.value, Theirs: test.value, Hidden: isHidden}
		difference := Difference{Path: path, Wanted: test.value, Live: test.value, Hidden: isHidden}
		for _, text := range []string{conflict.String(), difference.String()} {
			if isHidden != test.want || strings.Contains(text, "secret") == test.want {
				t.Errorf("%s: hidden is %v: %s", test.reason, isHidden, text)
			}
		}
	}
}
