package apply_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
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

// TestContractLooks: only for what is ours from birth, and only if the contract has its kind, is
// a live read made to take fields back. The read shows that another process has done so.
func TestContractLooks(t *testing.T) {
	deployment, wiped := schema.GroupKind{Group: "apps", Kind: "Deployment"}, bornOurs("uid-1", "7")
	wiped.ManagedFields = []metav1.ManagedFieldsEntry{entry(fieldowners.BeforeFirstApply, "Update", "", `{"f:spec":{"f:replicas":{}}}`)}
	bare := bornOurs("uid-1", "7")
	bare.ManagedFields = nil
	patch := step{"PATCH uid=uid-1", ok(bornOurs("uid-1", "8"))}
	looked := []step{{"GET", ok(bornOurs("uid-1", "8"))}, patch}
	for name, test := range map[string]struct {
		kind   schema.GroupKind
		intent apply.Intent
		cached *appsv1.Deployment
		steps  []step
	}{
		"ours, and lost":            {deployment, apply.Intent{Belongs: isBornOurs}, wiped, looked},
		"ours, and nothing shows":   {deployment, apply.Intent{Belongs: isBornOurs}, bare, looked},
		"ours, of another kind":     {schema.GroupKind{Kind: "ConfigMap"}, apply.Intent{Belongs: isBornOurs}, bare, []step{patch}},
		"ours, and not lost":        {deployment, apply.Intent{Belongs: isBornOurs}, bornOurs("uid-1", "7"), []step{patch}},
		"whoever's it is":           {deployment, apply.Intent{MustExist: true}, wiped, []step{patch}},
		"ours, and not there (yet)": {deployment, apply.Intent{Belongs: isBornOurs}, nil, []step{{"PATCH resourceVersion=1", patch.answer}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, test.steps)
			a := s.applierOver(s.restConfig(true), apply.Config{Contract: apply.Contract{
				{Manager: manager, Kind: test.kind, Applies: []string{".spec.replicas"}},
			}}, cache{object: test.cached})
			test.intent.Config = threeReplicas()
			if outcome, err := a.Apply(t.Context(), test.intent); err != nil || outcome.Requests != len(test.steps) {
				t.Errorf("%+v, %v; want %d requests", outcome, err, len(test.steps))
			}
		})
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
