package owneraudit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/fieldowners/contract"
)

func compared(t *testing.T, c contract.Contract, objects ...owneraudit.Object) owneraudit.Report {
	t.Helper()
	comparer, err := contract.NewComparer(c)
	if err != nil {
		t.Fatal(err)
	}
	audit := owneraudit.New()
	audit.Compare(comparer)
	for _, o := range objects {
		audit.Add(o)
	}
	return audit.Report(true)
}

var web = contract.Contract{{
	Manager: "web", Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"},
	Applies: []string{".spec.replicas", ".metadata.labels", ".spec.paused"}, Updates: []string{".status"},
}}

// TestContractFindingsAreCounted: objects, not fields, and by what is to be done.
func TestContractFindingsAreCounted(t *testing.T) {
	wide := entry("web/Update", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x\"":{}}},"f:spec":{"f:replicas":{},"f:strategy":{}}}`)
	got := compared(t, web, deployment("a", wide), deployment("b", wide), deployment("c", entry("web/Apply", replicas)))
	counts := map[string]int{}
	for _, f := range got.Findings {
		if !f.Contract {
			t.Errorf("not by the contract: %+v", f)
		}
		counts[f.Rule+" "+f.Remedy] = f.Objects
	}
	want := map[string]int{
		"outside-contract kubectl fieldowners TYPE/NAME":                                              2, // the finalizer
		"wide-update kubectl fieldowners TYPE/NAME":                                                   2, // the strategy
		"wide-update kubectl fieldowners migrate TYPE/NAME --from web --to web --path .spec.replicas": 2,
	}
	if diff := cmp.Diff(want, counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
