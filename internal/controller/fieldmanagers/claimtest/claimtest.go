// Package claimtest holds the claims of fieldmanagers against what is emitted.
package claimtest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// Hold checks that each field of the intents, by the manager that applies them,
// stands under exactly one manager's paths, its own, or is declared to be shared; and
// that these managers claim nothing that they do not apply. So the intents have to
// show everything that a manager can want.
func Hold(t *testing.T, emitted map[string][]apply.Intent) {
	t.Helper()
	claims := fieldmanagers.All()
	used := map[int]bool{}
	for manager, intents := range emitted {
		for _, intent := range intents {
			object := decode(t, intent.Config)
			kind := object.GroupVersionKind().GroupKind().String()
			for _, field := range wanted(object.Object) {
				own := false
				for i, claim := range claims {
					switch {
					case claim.Kind != kind || !covers(claim, field):
					case claim.Manager == manager && !claim.Fallback:
						own, used[i] = true, true
					case claim.Manager == manager: // what it applies, it writes by the fallback as well
					case claim.Shared == "":
						t.Errorf("%s %s is emitted by %s and claimed by %s", kind, field, manager, claim.Manager)
					}
				}
				if !own && !declaredShared(claims, kind, manager, field) {
					t.Errorf("%s %s is emitted by %s, which does not claim it", kind, field, manager)
				}
			}
		}
	}
	for i, claim := range claims {
		if _, here := emitted[claim.Manager]; here && !claim.Fallback && !used[i] {
			t.Errorf("%s claims %s and emits nothing of it", claim.Manager, claim.Kind)
		}
	}
}

func declaredShared(claims []fieldmanagers.Claim, kind, manager string, field fieldowners.Path) bool {
	return slices.ContainsFunc(claims, func(c fieldmanagers.Claim) bool {
		return c.Manager == manager && c.Kind == kind && c.Shared != "" && covers(c, field)
	})
}

func covers(claim fieldmanagers.Claim, field fieldowners.Path) bool {
	return slices.ContainsFunc(claim.Paths, func(path string) bool {
		return field.HasPrefix(fieldowners.MustParsePath(path))
	})
}

func decode(t *testing.T, config runtime.ApplyConfiguration) unstructured.Unstructured {
	t.Helper()
	var object unstructured.Unstructured
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// itemsBy are lists of which managers claim items, with what tells these apart, and
// whether they claim parts of an item.
var itemsBy = map[string]struct {
	key   string
	parts bool
}{
	`["conditions"]`: {"type", false},
	`["containers"]`: {"name", true},
}

// wanted lists the map paths of an intent, down to its first lists but for those of
// itemsBy.
func wanted(object map[string]any) []fieldowners.Path {
	var paths []fieldowners.Path
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if list, ok := v.([]any); ok {
			for name, by := range itemsBy {
				if !strings.HasSuffix(prefix, name) {
					continue
				}
				for _, item := range list {
					key, _ := json.Marshal(item.(map[string]any)[by.key])
					at := prefix + "[" + by.key + "=" + string(key) + "]"
					if by.parts {
						walk(at, item)
					} else {
						paths = append(paths, fieldowners.MustParsePath(at))
					}
				}
				return
			}
		}
		fields, ok := v.(map[string]any)
		if !ok {
			paths = append(paths, fieldowners.MustParsePath(prefix))
			return
		}
		for name, child := range fields {
			quoted, _ := json.Marshal(name)
			walk(prefix+"["+string(quoted)+"]", child)
		}
	}
	for name, child := range object {
		if name != "apiVersion" && name != "kind" {
			walk("."+name, child)
		}
	}
	return slices.DeleteFunc(paths, func(p fieldowners.Path) bool {
		return p.String() == ".metadata.name" || p.String() == ".metadata.namespace"
	})
}
