package fieldmanagers_test

import (
	"strings"
	"testing"

	"coapply.dev/internal/controller/fieldmanagers"
)

func TestCheckAll(t *testing.T) {
	if err := fieldmanagers.Check(fieldmanagers.All()); err != nil {
		t.Error(err)
	}
}

func TestCheckRefuses(t *testing.T) {
	claim := func(manager, kind string, paths ...string) fieldmanagers.Claim {
		return fieldmanagers.Claim{Manager: manager, Kind: kind, Paths: paths}
	}
	shared := claim("coapply-b", "Node", ".spec.unschedulable")
	shared.Shared = "both mean it"
	fallback := claim("coapply-a", "Node", ".status.phase")
	fallback.Fallback = true
	a := claim("coapply-a", "Node", ".spec.unschedulable")
	for _, test := range []struct {
		reason string
		second fieldmanagers.Claim
		want   string
	}{
		{"another field", claim("coapply-b", "Node", ".spec.taints"), ""},
		{"another kind", claim("coapply-b", "Pod", ".spec.unschedulable"), ""},
		{"declared", shared, ""},
		{"the same manager, written the other way", fallback, ""},
		{"the same manager again", claim("coapply-a", "Node", ".spec.taints"), "coapply-a claims Node twice"},
		{"the same field", claim("coapply-b", "Node", ".spec.unschedulable"), "coapply-a and coapply-b both claim .spec.unschedulable of Node"},
		{"a field above", claim("coapply-b", "Node", ".spec"), "both claim .spec.unschedulable of Node"},
		{"a field below", claim("coapply-b", "Node", ".spec.unschedulable.x"), "both claim .spec.unschedulable.x of Node"},
		{"no path", claim("coapply-b", "Node", "spec["), "coapply-b claims spec[ of Node"},
		{"not our prefix", claim("kubectl", "Node", ".spec.taints"), "does not begin with coapply-"},
		{"nothing but the prefix", claim("coapply-", "Node", ".spec.taints"), "does not begin with coapply-"},
		{"no name", claim("", "Node", ".spec.taints"), "does not begin with coapply-"},
		{"a name that no server takes", claim("coapply-\n", "Node", ".spec.taints"), "invalid character"},
	} {
		err := fieldmanagers.Check([]fieldmanagers.Claim{a, test.second})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}
