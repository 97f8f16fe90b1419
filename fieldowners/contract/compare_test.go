package contract_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/contract"
)

// shop has two managers of a Deployment; the taken replicas are in no claim of "web".
var shop = contract.Contract{
	{
		Manager: "web", Kind: deployment,
		Applies: []string{".metadata.labels", `.spec.template.spec.containers[name="web"].image`, ".spec.paused", ".spec.strategy"},
		Updates: []string{`.metadata.finalizers[="shop"]`, ".status.shop"},
		Shared:  map[string]string{".spec.paused": "a person may pause it"},
	},
	{Manager: "power", Kind: deployment, Applies: []string{".spec.replicas", ".spec.paused"}},
}

func entry(manager, operation, subresource, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), Subresource: subresource, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

const (
	image      = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`
	replicas   = `{"f:spec":{"f:replicas":{}}}`
	finalizers = `{"f:metadata":{"f:finalizers":{".":{},"v:\"shop\"":{}}}}`
)

func TestCompare(t *testing.T) {
	comparer, err := contract.NewComparer(shop)
	if err != nil {
		t.Fatal(err)
	}
	apply, update := "Apply", "Update"
	web := entry("web", apply, "", image)
	for _, test := range []struct {
		reason string
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		{"as it should be", []metav1.ManagedFieldsEntry{web, entry("power", apply, "", replicas), entry("web", update, "", finalizers)}, ""},
		{"what nobody claims is anybody's", []metav1.ManagedFieldsEntry{web, entry("kubectl", update, "", `{"f:spec":{"f:minReadySeconds":{}}}`)}, ""},
		{"an object of somebody else", []metav1.ManagedFieldsEntry{entry("helm", apply, "", replicas)}, ""},
		{"nobody has the replicas of who is not there", []metav1.ManagedFieldsEntry{web}, ""},
		{"a label beside labels", []metav1.ManagedFieldsEntry{web, entry("kubectl-label", update, "", `{"f:metadata":{"f:labels":{"f:team":{}}}}`)}, ""},
		{"what may be shared", []metav1.ManagedFieldsEntry{web, entry("kubectl", update, "", `{"f:spec":{"f:paused":{}}}`)}, ""},
		{"the map that is left empty", []metav1.ManagedFieldsEntry{entry("web", apply, "", `{"f:spec":{}}`)}, ""},
		{"managers that the server made up", []metav1.ManagedFieldsEntry{web, entry("before-first-apply", update, "", image), entry("ancient-changes", update, "", image)}, ""},

		{"another's field", []metav1.ManagedFieldsEntry{entry("web", apply, "", replicas)},
			"outside-contract web/Apply Deployment.apps power: .spec.replicas"},
		{"nobody's field", []metav1.ManagedFieldsEntry{entry("web", apply, "", `{"f:spec":{"f:minReadySeconds":{}}}`)},
			"outside-contract web/Apply Deployment.apps : .spec.minReadySeconds"},
		{"another container", []metav1.ManagedFieldsEntry{entry("web", apply, "", strings.ReplaceAll(image, `\"web`, `\"log`))},
			`outside-contract web/Apply Deployment.apps : .spec.template.spec.containers[name="log"].image .spec.template.spec.containers[name="log"].name`},
		{"the other operation, content", []metav1.ManagedFieldsEntry{entry("web", update, "", image)},
			`wide-update web/Update Deployment.apps web: .spec.template.spec.containers[name="web"].image .spec.template.spec.containers[name="web"].name`},
		{"the other operation, of a shared field", []metav1.ManagedFieldsEntry{entry("web", update, "", `{"f:spec":{"f:paused":{}}}`)},
			"wide-update web/Update Deployment.apps web: .spec.paused"},
		{"and of the one that shares it", []metav1.ManagedFieldsEntry{entry("power", update, "", `{"f:spec":{"f:paused":{}}}`)},
			"wide-update power/Update Deployment.apps power: .spec.paused"},
		{"the other operation, no content", []metav1.ManagedFieldsEntry{entry("web", apply, "", finalizers)},
			`outside-contract web/Apply Deployment.apps web: .metadata.finalizers[="shop"]`},
		{"a wide update", []metav1.ManagedFieldsEntry{entry("web", update, "", `{"f:metadata":{"f:finalizers":{".":{},"v:\"shop\"":{}},"f:annotations":{"f:x":{}}},"f:spec":{"f:replicas":{},"f:x":{}}}`)},
			"outside-contract web/Update Deployment.apps : .metadata.annotations.x" +
				"\nwide-update web/Update Deployment.apps power: .spec.replicas" +
				"\nwide-update web/Update Deployment.apps : .spec.x"},
		{"through /scale it is not wide", []metav1.ManagedFieldsEntry{entry("web", update, "scale", replicas)},
			"outside-contract web/Update[scale] Deployment.apps power: .spec.replicas"},
		{"a stranger", []metav1.ManagedFieldsEntry{entry("power", apply, "", replicas), entry("kubectl", update, "scale", replicas)},
			"outside-contract kubectl/Update[scale] Deployment.apps power: .spec.replicas"},
		{"the replicas of who owns nothing any more", []metav1.ManagedFieldsEntry{web, entry("kubectl", update, "scale", replicas)},
			"outside-contract kubectl/Update[scale] Deployment.apps power, missing: .spec.replicas"},
		{"a forged root", []metav1.ManagedFieldsEntry{web, entry("power", update, "", `{".":{}}`)}, ""},
	} {
		ownership, err := fieldowners.Parse(test.fields)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range comparer.Compare(deployment, nil, ownership) {
			got = append(got, lineOf(f))
		}
		if diff := cmp.Diff(test.want, strings.Join(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

// lineOf returns a finding on one line.
func lineOf(f contract.Finding) string {
	line := fmt.Sprintf("%s %s %s %s", f.Rule, f.Manager, f.Kind, f.Owner.Name)
	if f.Missing {
		line += ", missing"
	}
	line += ":"
	for _, path := range f.Paths {
		line += " " + path.String()
	}
	return line
}

// TestAnotherKind: what a manager of the contract owns of a kind without a claim is outside.
func TestAnotherKind(t *testing.T) {
	comparer, err := contract.NewComparer(shop)
	if err != nil {
		t.Fatal(err)
	}
	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry("power", "Apply", "", replicas)})
	if err != nil {
		t.Fatal(err)
	}
	if got := comparer.Compare(pod, nil, ownership); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestNewComparerChecks(t *testing.T) {
	if comparer, err := contract.NewComparer(contract.Contract{{Manager: "web", Kind: deployment}}); err == nil || comparer != nil {
		t.Errorf("%v, %v", comparer, err)
	}
}

func TestMessages(t *testing.T) {
	update := fieldowners.Manager{Name: "web", Operation: metav1.ManagedFieldsOperationUpdate}
	path := []fieldowners.Path{fieldowners.MustParsePath(".spec.replicas")}
	for _, test := range []struct {
		finding contract.Finding
		want    string
	}{
		{contract.Finding{Rule: contract.RuleOutside, Manager: update, Kind: deployment, Paths: path},
			"web/Update owns 1 field of Deployment.apps that the contract does not allow this manager to own"},
		{contract.Finding{Rule: contract.RuleOutside, Manager: update, Kind: deployment, Paths: path, Owner: fieldowners.Manager{Name: "power"}},
			"web/Update owns 1 field of Deployment.apps that the contract assigns to power"},
		{contract.Finding{Rule: contract.RuleWide, Manager: update, Kind: deployment, Paths: append(path, path...), Owner: fieldowners.Manager{Name: "web", Operation: metav1.ManagedFieldsOperationApply}},
			"web/Update owns 2 fields of Deployment.apps that the contract allows this manager to own by Apply only; an update of the whole " +
				"object takes fields that the client did not intend to change"},
	} {
		if got := test.finding.Message(); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
