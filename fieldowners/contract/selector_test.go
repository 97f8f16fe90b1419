package contract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// TestSelector: the objects on which a manager is reported as missing because it owns nothing of
// them.
func TestSelector(t *testing.T) {
	const paused = `{"f:spec":{"f:paused":{}}}`
	power := contract.Claim{Manager: "power", Kind: deployment, Applies: []string{".spec.replicas"}, Selector: "power in (on)"}
	web := contract.Claim{Manager: "web", Kind: deployment, Applies: []string{".spec.paused"}}
	comparer, err := contract.NewComparer(contract.Contract{power, web})
	if err != nil {
		t.Fatal(err)
	}
	thief, there := entry("thief", "Apply", "", replicas), entry("web", "Apply", "", paused)
	on, off := labels.Set{"power": "on"}, labels.Set{"power": "off"}
	const theft = "outside-contract thief/Apply Deployment.apps power, missing: .spec.replicas"
	for _, test := range []struct {
		reason string
		labels labels.Set
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		{"all of it is taken, and no manager of the contract is left", on, []metav1.ManagedFieldsEntry{thief}, theft},
		{"and another one is left", on, []metav1.ManagedFieldsEntry{thief, there}, theft},
		{"an object that is not selected", off, []metav1.ManagedFieldsEntry{thief}, ""},
		{"nor if another manager is there", off, []metav1.ManagedFieldsEntry{thief, there}, ""},
		{"an object without labels", nil, []metav1.ManagedFieldsEntry{thief, there}, ""},
		{"nobody owns the replicas", on, []metav1.ManagedFieldsEntry{there}, ""},
		{"the thief owns what the contract gives to nobody", on, []metav1.ManagedFieldsEntry{entry("thief", "Apply", "", `{"f:spec":{"f:x":{}}}`)}, ""},
		{"owners that the server made up", on, []metav1.ManagedFieldsEntry{entry("before-first-apply", "Update", "", replicas)}, ""},
		{"web is missed on an object of power", on, []metav1.ManagedFieldsEntry{entry("power", "Apply", "", replicas), entry("thief", "Update", "", paused)},
			"outside-contract thief/Update Deployment.apps web, missing: .spec.paused"},
	} {
		ownership, err := fieldowners.Parse(test.fields)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range comparer.Compare(deployment, test.labels, ownership) {
			got = append(got, lineOf(f))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestSelectorIsChecked(t *testing.T) {
	wrong := contract.Contract{{Manager: "a", Kind: node, Applies: []string{".spec"}, Selector: "app in"}}
	if err := contract.Check(wrong); err == nil || !strings.Contains(err.Error(), `contract: "a", Node: malformed selector "app in": `) {
		t.Error(err)
	}
	for text, want := range map[string]string{
		"managers:\n  a:\n    Node:\n      applies: [.spec]\n      selector: {a: b}\n": `contract: json: cannot unmarshal object into Go struct field Claim.managers.selector of type string`,
		"managers:\n  a:\n    Node:\n      applies: [.spec]\n      selector: app in\n": `contract: "a", Node: malformed selector "app in": `,
	} {
		if _, err := contract.Read(strings.NewReader(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}
