package apply_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"coapply.dev/apply"
)

// TestReleaseErrors holds that an error says what to do.
func TestReleaseErrors(t *testing.T) {
	noKind, noNamespace := webAt(""), webAt("")
	noKind.Kind, noNamespace.Namespace = "", ""
	required := field.Required(field.NewPath("spec", "template"), "")
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", field.ErrorList{required})
	entries := step{"GET", ok(ours("uid-1", "7", ""))}
	for reason, test := range map[string]struct {
		object apply.ObjectRef
		steps  []step
		err    error
		says   []string
	}{
		"nothing is named": {apply.ObjectRef{}, nil, apply.ErrInvalidIntent, []string{"the reference to the object lacks its version and kind and name"}},
		"no kind":          {noKind, nil, apply.ErrInvalidIntent, []string{"the reference to the object lacks its kind"}},
		"no namespace":     {noNamespace, nil, apply.ErrInvalidIntent, []string{"a namespace is needed: Deployment is namespaced"}},
		"it cannot be without": {
			webAt(""),
			[]step{entries, {"PATCH uid=uid-1", fail(invalid)}},
			apply.ErrRefused,
			[]string{"it cannot be without what a release of coapply-test takes away", "Migrate or Rename", "spec.template: Required value"},
		},
		"another refusal": {
			webAt(""),
			[]step{entries, {"PATCH uid=uid-1", fail(apierrors.NewForbidden(deployments, "web", nil))}},
			apply.ErrRefused,
			[]string{"releasing the fields of coapply-test: ", "forbidden"},
		},
	} {
		s := newScript(t, test.steps)
		_, err := s.applier(apply.Policy{}, nil).Release(t.Context(), test.object)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: error %v, want %v", reason, err, test.err)
			continue
		}
		for _, part := range test.says {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: the error does not say %q: %v", reason, part, err)
			}
		}
	}
}
