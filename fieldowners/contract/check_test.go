package contract_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

var (
	node       = schema.GroupKind{Kind: "Node"}
	pod        = schema.GroupKind{Kind: "Pod"}
	deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}
)

func TestCheck(t *testing.T) {
	applies := func(manager string, kind schema.GroupKind, paths ...string) contract.Claim {
		return contract.Claim{Manager: manager, Kind: kind, Applies: paths}
	}
	shares := func(claim contract.Claim, path, why string) contract.Claim {
		claim.Shared = map[string]string{path: why}
		return claim
	}
	a := applies("a", node, ".spec.unschedulable")
	for _, test := range []struct {
		reason string
		second contract.Claim
		want   string
	}{
		{"another field", applies("b", node, ".spec.taints"), ""},
		{"another kind", applies("b", pod, ".spec.unschedulable"), ""},
		{"a field beside it that begins alike", applies("b", node, ".spec.unschedulableSince"), ""},
		{"declared", shares(applies("b", node, ".spec.unschedulable"), ".spec.unschedulable", "both mean it"), ""},
		{"declared by a path above", shares(applies("b", node, ".spec.unschedulable", ".spec.taints"), ".spec", "both mean it"), ""},
		{"declared as far as both claim it", shares(applies("b", node, ".spec"), ".spec.unschedulable", "both mean it"), ""},
		{"declared as far down as one of them claims it", shares(applies("b", node, ".spec.unschedulable.x"), ".spec.unschedulable.x", "both mean it"), ""},
		{"both ways to write", contract.Claim{Manager: "b", Kind: node, Applies: []string{".spec.taints"}, Updates: []string{".spec.taints"}}, ""},

		{"another field is declared", shares(applies("b", node, ".spec"), ".spec.taints", "both mean it"), `"b", Node, .spec: a claims .spec.unschedulable`},
		{"declared without a reason", shares(applies("b", node, ".spec.unschedulable"), ".spec.unschedulable", " "), "shared without a reason"},
		{"declared and not claimed", shares(applies("b", node, ".spec.taints"), ".status", "both mean it"), `"b", Node, .status: the path is shared, but not claimed`},
		{"declared at no path", shares(applies("b", node, ".spec.taints"), "spec[", "both mean it"), `"b", Node, spec[: malformed path: at offset 0`},
		{"the same field", applies("b", node, ".spec.unschedulable"), `"b", Node, .spec.unschedulable: a claims .spec.unschedulable as well`},
		{"the same field by the other operation", contract.Claim{Manager: "b", Kind: node, Updates: []string{".spec.unschedulable"}}, "a claims .spec.unschedulable as well"},
		{"a field above", applies("b", node, ".spec"), "a claims .spec.unschedulable as well"},
		{"a field below", applies("b", node, ".spec.unschedulable.x"), "a claims .spec.unschedulable as well"},

		{"the same manager again", applies("a", node, ".spec.taints"), `"a", Node: the manager has two claims of this kind`},
		{"a path twice", applies("b", node, ".spec.taints", ".spec.taints"), `"b", Node, .spec.taints: the path is claimed twice`},
		{"a path below another", applies("b", pod, ".spec", ".spec.nodeName"), `"b", Pod, .spec.nodeName: the claim already lists .spec, which covers this path`},
		{"a path above another", applies("b", pod, ".spec.nodeName", ".spec"), `"b", Pod, .spec: the path covers .spec.nodeName`},
		{"no paths", applies("b", node), `"b", Node: the claim has no path`},
		{"no path", applies("b", node, "spec["), `"b", Node, spec[: malformed path: at offset 0`},
		{"the whole object", applies("b", node, ""), `"b", Node, "": the path is empty`},
		{"no name", applies("", node, ".spec.taints"), "the claim has no field manager"},
		{"a name that no server takes", applies("b\n", node, ".spec.taints"), `"b\n", Node: not a valid name of a field manager`},
		{"a name that is too long", applies(strings.Repeat("b", 200), node, ".spec.taints"), "not a valid name of a field manager"},
		{"no kind", applies("b", schema.GroupKind{}, ".spec.taints"), `"b", no kind: the claim has no kind`},
		{"a path for a kind", applies("b", schema.GroupKind{Kind: "apps/v1"}, ".spec.taints"), `"apps/v1" is not a valid kind`},
		{"no group", applies("b", schema.GroupKind{Group: "apps/v1", Kind: "Deployment"}, ".spec.taints"), `"apps/v1" is not a valid API group`},
	} {
		err := contract.Check(contract.Contract{a, test.second})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.reason, err, test.want)
		}
	}
}

func TestCheckTellsAll(t *testing.T) {
	err := contract.Check(contract.Contract{{Manager: "a", Kind: node, Applies: []string{"x", "y"}}, {Manager: "", Kind: node, Updates: []string{".z"}}})
	if n := strings.Count(err.Error(), "\n") + 1; n != 3 {
		t.Errorf("%d errors, want 3: %v", n, err)
	}
}

func TestOf(t *testing.T) {
	c := contract.Contract{
		{Manager: "b", Kind: node, Applies: []string{".spec.taints"}},
		{Manager: "a", Kind: node, Applies: []string{".spec.unschedulable"}},
		{Manager: "b", Kind: pod, Applies: []string{".spec"}},
	}
	if got := c.Of("b"); len(got) != 2 || got[1].Kind != pod || len(c) != 3 {
		t.Errorf("%v of %v", got, c)
	}
	if got := c.Managers(); strings.Join(got, ",") != "a,b" {
		t.Errorf("%v", got)
	}
}

func TestIsEverybodys(t *testing.T) {
	for text, want := range map[string]bool{
		".metadata.labels": true, ".metadata.finalizers": true, ".spec.template.metadata.annotations": true,
		"": false, ".metadata": false, ".labels": false, ".spec.labels": false, ".metadata.name": false, ".metadata.labels.app": false,
	} {
		if got := contract.IsEverybodys(fieldowners.MustParsePath(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
