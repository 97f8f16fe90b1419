package fieldmanagers_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners/contract"
	"coapply.dev/platform/controllers/fieldmanagers"
)

func TestCheckAll(t *testing.T) {
	if err := fieldmanagers.Check(fieldmanagers.All()); err != nil {
		t.Error(err)
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, test := range []struct{ reason, manager, path, want string }{
		{"one of ours", "coapply-b", ".spec.taints", ""},
		{"a field that another one claims", "coapply-b", ".spec.unschedulable", "coapply-a claims .spec.unschedulable as well"},
		{"not our prefix", "kubectl", ".spec.taints", "the name must begin with coapply-"},
		{"nothing but the prefix", "coapply-", ".spec.taints", "the name must begin with coapply-"},
		{"no name", "", ".spec.taints", "the name must begin with coapply-"},
	} {
		err := fieldmanagers.Check(contract.Contract{
			{Manager: "coapply-a", Kind: schema.GroupKind{Kind: "Node"}, Applies: []string{".spec.unschedulable"}},
			{Manager: test.manager, Kind: schema.GroupKind{Kind: "Node"}, Applies: []string{test.path}},
		})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}
