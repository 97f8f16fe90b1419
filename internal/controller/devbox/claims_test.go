package devbox

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/api/v1alpha1"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/controller/fieldmanagers"
)

// TestClaims holds fieldmanagers.Claims against what is emitted: each field stands
// under exactly one manager's paths, its own.
func TestClaims(t *testing.T) {
	full := with(func(b *v1alpha1.Devbox) {
		b.Status.ContentID = "content"
		b.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		b.Spec.Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	used := map[string]bool{}
	for manager, emit := range map[string]string{
		fieldmanagers.DevboxWorkload: "workload",
		fieldmanagers.DevboxPower:    "power",
		fieldmanagers.DevboxNetwork:  "network",
	} {
		emission, err := emitters[emit](full)
		if err != nil {
			t.Fatal(err)
		}
		for _, intent := range emission.Intents {
			var object unstructured.Unstructured
			raw, err := json.Marshal(intent.Config)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &object.Object); err != nil {
				t.Fatal(err)
			}
			kind := object.GroupVersionKind().GroupKind().String()
			for _, field := range wanted(object.Object) {
				claims := claimsOf(kind, field)
				if !slices.Equal(claims, []string{manager}) {
					t.Errorf("%s %s is emitted by %s and claimed by %v", kind, field, manager, claims)
				}
				for _, c := range claims {
					used[c] = true
				}
			}
		}
	}
	for _, claim := range fieldmanagers.Claims {
		if !used[claim.Manager] {
			t.Errorf("%s claims %s and emits nothing of it", claim.Manager, claim.Kind)
		}
	}
}

func claimsOf(kind string, field fieldowners.Path) []string {
	var managers []string
	for _, claim := range fieldmanagers.Claims {
		if claim.Kind != kind {
			continue
		}
		for _, path := range claim.Paths {
			if field.HasPrefix(fieldowners.MustParsePath(path)) {
				managers = append(managers, claim.Manager)
			}
		}
	}
	return managers
}

// wanted lists the map paths of an intent, down to its first lists.
func wanted(object map[string]any) []fieldowners.Path {
	var paths []fieldowners.Path
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
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
