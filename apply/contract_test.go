package apply_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
)

func TestContractIsChecked(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	for _, test := range []struct{ reason, path, want string }{
		{"a field", ".spec.replicas", ""},
		{"a whole map of metadata", ".metadata.labels", ""},
		{"no path", "spec[", `apply: Contract: contract: "us", Deployment.apps, spec[: not a path`},
		{"the whole object, which is nobody's", "", "an empty path"},
	} {
		_, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{
			{Manager: "us", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Applies: []string{test.path}},
		}})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

// TestContractOfAnother: a contract that was mixed up takes back nothing, silently.
func TestContractOfAnother(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	_, err := apply.New(c, apply.Config{FieldManager: "us", LiveReader: c, Contract: apply.Contract{
		{Manager: "them", Kind: schema.GroupKind{Kind: "ConfigMap"}, Applies: []string{".data"}},
	}})
	if err == nil || !strings.Contains(err.Error(), `Contract does not name the field manager "us", only them`) {
		t.Error(err)
	}
}
