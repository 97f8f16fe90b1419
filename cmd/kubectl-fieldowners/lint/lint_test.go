package lint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: operation, APIVersion: "apps/v1",
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
	}
}

// served knows all versions but v1alpha1, and nothing of the group unknown.
func served(apiVersion string) (served, known bool) {
	known = !strings.HasPrefix(apiVersion, "unknown/")
	return known && apiVersion != "apps/v1alpha1", known
}

func inVersion(entry metav1.ManagedFieldsEntry, apiVersion, subresource string) metav1.ManagedFieldsEntry {
	entry.APIVersion, entry.Subresource = apiVersion, subresource
	return entry
}

// TestCheck holds what is told and what is not; test/integration has each rule on
// objects that came about on a real API server.
func TestCheck(t *testing.T) {
	const a, ab, abc = `{"f:spec":{"f:a":{}}}`, `{"f:spec":{"f:a":{},"f:b":{}}}`, `{"f:spec":{".":{},"f:a":{},"f:b":{},"f:c":{}}}`
	update := func(manager, fields string) metav1.ManagedFieldsEntry { return entry(manager, "Update", fields) }
	apply := func(manager, fields string) metav1.ManagedFieldsEntry { return entry(manager, "Apply", fields) }
	for _, c := range []struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		want    []string // finding, remedy
	}{
		{"nothing is known", nil, nil},
		{"one manager", []metav1.ManagedFieldsEntry{apply("us", abc)}, nil},
		{"two appliers that share", []metav1.ManagedFieldsEntry{apply("us", ab), apply("them", abc)}, nil},
		{"an updater and an applier that share", []metav1.ManagedFieldsEntry{update("old", ab), apply("us", a)}, []string{
			"shared-by-update: old/Update owns 1 field together with us/Apply: an apply by us that sets another value conflicts, unless it is forced; if old no longer writes a field, move the field to the applier: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from old --to us --path .spec.a"}},
		{"they share, in versions of which one is not served: told as that alone", []metav1.ManagedFieldsEntry{
			inVersion(update("old", ab), "apps/v1alpha1", ""), apply("us", a)}, []string{
			"unserved-version: old/Update owns 2 fields in apps/v1alpha1, which is not served: after the version is removed from the CustomResourceDefinition, applies are rejected, and " +
				"the next write other than an apply drops all managed fields (up to Kubernetes 1.36) or is not recorded in them (from 1.37 on); " +
				"to prevent this, serve the version again and migrate: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from old --to us"}},
		{"the applier's is not served", []metav1.ManagedFieldsEntry{
			update("old", ab), inVersion(apply("us", a), "apps/v1alpha1", "")}, []string{
			"unserved-version: us/Apply owns 1 field in apps/v1alpha1, which is not served: after the version is removed from the CustomResourceDefinition, applies are rejected, and " +
				"the next write other than an apply drops all managed fields (up to Kubernetes 1.36) or is not recorded in them (from 1.37 on); " +
				"to prevent this, apply the object in a served version before the removal: .spec.a",
			"kubectl apply --server-side --field-manager us -f FILE"}},
		{"the key of an item, and a member of a set, have no other value", []metav1.ManagedFieldsEntry{
			update("old", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:l":{"k:{\"name\":\"n\"}":{".":{},"f:name":{},"f:b":{}}}}}`),
			apply("us", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:l":{"k:{\"name\":\"n\"}":{".":{},"f:name":{},"f:a":{}}}}}`)}, nil},

		{"before-first-apply shares with an applier", []metav1.ManagedFieldsEntry{update("before-first-apply", abc), apply("us", ab)}, []string{
			"before-first-apply: before-first-apply/Update owns 2 fields together with us/Apply: fields that an applier no longer lists stay on the object: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from before-first-apply --to us"}},
		{"with two of them; the one that shares more comes first", []metav1.ManagedFieldsEntry{update("before-first-apply", abc), apply("a few", a), apply("more of it", ab)}, []string{
			"before-first-apply: before-first-apply/Update owns 2 fields together with more of it/Apply and 1 more: fields that an applier no longer lists stay on the object: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from before-first-apply --to 'more of it'"}},
		{"with one of two", []metav1.ManagedFieldsEntry{update("before-first-apply", ab), apply("other", `{"f:spec":{"f:c":{}}}`), apply("us", a)}, []string{
			"before-first-apply: before-first-apply/Update owns 1 field together with us/Apply: fields that an applier no longer lists stay on the object: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from before-first-apply --to us"}},
		{"before-first-apply shares nothing", []metav1.ManagedFieldsEntry{update("before-first-apply", a), apply("us", `{"f:spec":{"f:b":{}}}`)}, nil},
		{"a manager that chose that name and applies", []metav1.ManagedFieldsEntry{apply("before-first-apply", a), apply("us", a)}, nil},

		{"client-side apply left its entry", []metav1.ManagedFieldsEntry{update("kubectl-client-side-apply", abc), apply("kubectl", a)}, []string{
			"client-side-apply: kubectl-client-side-apply/Update owns 1 field together with kubectl/Apply: fields that an applier no longer lists stay on the object: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from kubectl-client-side-apply --to kubectl"}},
		{"client-side apply, and nobody applies", []metav1.ManagedFieldsEntry{update("kubectl-client-side-apply", abc), update("x", a)}, nil},

		{"a manager owns fields both ways", []metav1.ManagedFieldsEntry{update("us", abc), apply("us", a)}, []string{
			"update-and-apply: us applies the object, and also owns 3 fields by Update, 1 of them by both operations: fields that its applies no longer list stay on the object: .spec.a, .spec.b, .spec.c",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us"}},
		{"only by Update what it could apply", []metav1.ManagedFieldsEntry{update("us", a), apply("us", `{"f:spec":{"f:b":{}}}`)}, []string{
			"update-and-apply: us applies the object, and also owns 1 field by Update, 0 of them by both operations: fields that its applies no longer list stay on the object: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us"}},
		{"one field both ways, and one by Update alone", []metav1.ManagedFieldsEntry{update("us", ab), apply("us", a)}, []string{
			"update-and-apply: us applies the object, and also owns 2 fields by Update, 1 of them by both operations: fields that its applies no longer list stay on the object: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us"}},
		{"what client-side apply recorded of it", []metav1.ManagedFieldsEntry{
			update("us", `{"f:metadata":{"f:annotations":{"f:kubectl.kubernetes.io/last-applied-configuration":{}}}}`), apply("us", a)}, nil},
		{"its status by Update, and its finalizer", []metav1.ManagedFieldsEntry{
			inVersion(update("us", `{"f:status":{"f:phase":{}}}`), "apps/v1", "status"),
			update("us", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}}}`), apply("us", a)}, nil},
		{"it applies the object, and was migrated what was scaled", []metav1.ManagedFieldsEntry{
			apply("us", a), inVersion(apply("us", `{"f:spec":{"f:replicas":{}}}`), "apps/v1", "scale")}, []string{
			"self-conflict: us applies the object, and us/Apply[scale] owns 1 field: for the API server these are two owners, so us conflicts with itself when it applies another value: .spec.replicas",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us --operation Apply"}},
		{"kubectl apply --server-side, then kubectl scale", []metav1.ManagedFieldsEntry{
			apply("kubectl", a), inVersion(update("kubectl", `{"f:spec":{"f:replicas":{}}}`), "apps/v1", "scale")}, []string{
			"self-conflict: kubectl applies the object, and kubectl/Update[scale] owns 1 field: for the API server these are two owners, so kubectl conflicts with itself when it applies another value: .spec.replicas",
			"kubectl fieldowners migrate TYPE/NAME --from kubectl --to kubectl"}},
		{"it applies the field with the object, and through the scale", []metav1.ManagedFieldsEntry{
			apply("us", a), inVersion(apply("us", a), "apps/v1", "scale")}, []string{
			"self-conflict: us applies the object, and us/Apply[scale] owns 1 field: for the API server these are two owners, so us conflicts with itself when it applies another value: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us --operation Apply"}},
		{"scaled to the value that it applies: told once", []metav1.ManagedFieldsEntry{
			apply("kubectl", a), inVersion(update("kubectl", a), "apps/v1", "scale")}, []string{
			"update-and-apply: kubectl applies the object, and also owns 1 field by Update, 1 of them by both operations: fields that its applies no longer list stay on the object: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from kubectl --to kubectl"}},
		{"it applies through the scale and the status, and not the object", []metav1.ManagedFieldsEntry{
			inVersion(apply("us", `{"f:spec":{"f:replicas":{}}}`), "apps/v1", "scale"), inVersion(apply("us", `{"f:status":{"f:phase":{}}}`), "apps/v1", "status")}, nil},
		{"it applies the object and the status", []metav1.ManagedFieldsEntry{
			apply("us", a), inVersion(apply("us", `{"f:status":{"f:phase":{}}}`), "apps/v1", "status")}, nil},
		{"another one scales", []metav1.ManagedFieldsEntry{
			apply("us", a), inVersion(update("hpa", `{"f:spec":{"f:replicas":{}}}`), "apps/v1", "scale")}, nil},
		{"another one's Update", []metav1.ManagedFieldsEntry{update("them", a), apply("us", `{"f:spec":{"f:b":{}}}`)}, nil},

		{"a finalizer, and what a Go type spells otherwise", []metav1.ManagedFieldsEntry{
			update("operator", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:b":{}}}`), apply("helm", `{"f:spec":{"f:c":{}}}`)}, []string{
			"wide-update: operator/Update wrote a finalizer, and also owns 2 fields outside metadata and status: an update of the whole object takes every field that the client's Go type formats or defaults differently, " +
				"and the next apply by helm that sets another value gets a conflict; move the fields back, and have the client send only its changes: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"the status of a kind without that subresource, of an object that was updated", []metav1.ManagedFieldsEntry{
			update("operator", `{"f:data":{"f:k":{}},"f:spec":{"f:a":{}},"f:status":{"f:phase":{}}}`), update("client", `{"f:spec":{".":{},"f:b":{}}}`)}, []string{
			"wide-update: operator/Update wrote the status, and also owns 2 fields outside metadata and status: an update of the whole object takes every field that the client's Go type formats or defaults differently, " +
				"and an apply that sets another value gets a conflict; move the fields back, and have the client send only its changes: .data.k, .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from operator --to MANAGER --path .data --path .spec"}},
		{"all content was taken of one that applies", []metav1.ManagedFieldsEntry{
			update("operator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{}},"f:status":{"f:phase":{}}}`), apply("helm", `{"f:metadata":{"f:labels":{"f:l":{}}}}`)}, []string{
			"wide-update: operator/Update wrote a finalizer and the status, and also owns 1 field outside metadata and status: an update of the whole object takes every field that the client's Go type formats or defaults differently, " +
				"and the next apply by helm that sets another value gets a conflict; move the fields back, and have the client send only its changes: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"a struct that the Go type added is nobody's; what is beside it was taken", []metav1.ManagedFieldsEntry{
			update("operator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:new":{".":{},"f:zero":{}}}}`), apply("helm", `{"f:spec":{"f:c":{}}}`)}, []string{
			"wide-update: operator/Update wrote a finalizer, and also owns 1 field outside metadata and status: an update of the whole object takes every field that the client's Go type formats or defaults differently, " +
				"and the next apply by helm that sets another value gets a conflict; move the fields back, and have the client send only its changes: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec"}},
		{"a finalizer alone", []metav1.ManagedFieldsEntry{update("operator", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}},"f:labels":{"f:l":{}}}}`), apply("helm", ab)}, nil},
		{"the object itself is no content", []metav1.ManagedFieldsEntry{update("operator", `{".":{},"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}}}`), apply("helm", ab)}, nil},
		{"content alone", []metav1.ManagedFieldsEntry{update("operator", `{"f:spec":{"f:b":{}}}`), apply("helm", a)}, nil},
		{"the status, through its subresource", []metav1.ManagedFieldsEntry{
			inVersion(update("operator", `{"f:status":{"f:phase":{}}}`), "apps/v1", "status"), update("operator", `{"f:spec":{"f:b":{}}}`), apply("helm", a)}, nil},
		{"what it owns with another one was not taken", []metav1.ManagedFieldsEntry{update("operator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{}}}`), apply("helm", ab)}, []string{
			"shared-by-update: operator/Update owns 1 field together with helm/Apply: an apply by helm that sets another value conflicts, unless it is forced; if operator no longer writes a field, move the field to the applier: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from operator --to helm --path .spec.a"}},
		{"nobody else writes content: it is the creator, as of a Job's pods", []metav1.ManagedFieldsEntry{
			update("job-controller", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}},"f:spec":{"f:a":{}}}`),
			inVersion(update("kubelet", `{"f:status":{"f:phase":{}}}`), "v1", "status"), update("marker", `{"f:metadata":{"f:labels":{"f:l":{}}}}`)}, nil},
		{"it created a custom resource, with its spec", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:metadata":{"f:finalizers":{".":{},"v:\"x/y\"":{}}},"f:spec":{".":{},"f:a":{},"f:b":{}}}`), apply("helm", `{"f:spec":{"f:c":{}}}`)}, nil},
		{"it made the list item, as who creates a pod does", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:containers":{"k:{\"name\":\"c\"}":{".":{},"f:image":{},"f:name":{}}}}}`), apply("helm", `{"f:spec":{"f:c":{}}}`)}, nil},
		{"it made the map that the applier writes to: a claim that was created and is applied to", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:resources":{"f:requests":{".":{},"f:other":{}}}}}`), apply("helm", `{"f:spec":{"f:resources":{"f:requests":{"f:storage":{}}}}}`)}, nil},
		{"a claim as it was created, bound by the control plane", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:resources":{"f:requests":{".":{},"f:storage":{}}}}}`), update("binder", `{"f:spec":{"f:volumeName":{}}}`)}, nil},
		{"a pod that was created, and is only labelled by Apply", []metav1.ManagedFieldsEntry{
			update("creator", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{},"f:requests":{".":{},"f:storage":{}}}}`), apply("marker", `{"f:metadata":{"f:labels":{"f:l":{}}}}`)}, nil},
		{"it applies as well, which is told above", []metav1.ManagedFieldsEntry{
			update("us", `{"f:metadata":{"f:finalizers":{"v:\"x/y\"":{}}},"f:spec":{"f:a":{}}}`), apply("us", `{"f:spec":{"f:b":{}}}`), apply("helm", `{"f:spec":{"f:c":{}}}`)}, []string{
			"update-and-apply: us applies the object, and also owns 1 field by Update, 0 of them by both operations: fields that its applies no longer list stay on the object: .spec.a",
			"kubectl fieldowners migrate TYPE/NAME --from us --to us"}},

		{"the oldest were merged", []metav1.ManagedFieldsEntry{update("ancient-changes", ab), apply("us", `{"f:spec":{"f:c":{}}}`)}, []string{
			"ancient-changes: more than ten managers wrote by Update, and the API server merged the oldest of them: the writers of 2 fields are no longer known: .spec.a, .spec.b",
			"kubectl fieldowners migrate TYPE/NAME --from ancient-changes --to us"}},
		{"the remedy moves them to who applies most of the object, the first of as many", []metav1.ManagedFieldsEntry{
			update("ancient-changes", `{"f:spec":{"f:x":{}}}`), apply("a few", a), inVersion(apply("status", `{"f:status":{"f:a":{},"f:b":{},"f:c":{}}}`), "apps/v1", "status"),
			apply("us", ab), apply("with as many", ab)}, []string{
			"ancient-changes: more than ten managers wrote by Update, and the API server merged the oldest of them: the writers of 1 field are no longer known: .spec.x",
			"kubectl fieldowners migrate TYPE/NAME --from ancient-changes --to us"}},
		{"and nobody applies", []metav1.ManagedFieldsEntry{update("ancient-changes", `{"f:spec":{"f:a":{},"f:b":{},"f:c":{},"f:d":{}}}`)}, []string{
			"ancient-changes: more than ten managers wrote by Update, and the API server merged the oldest of them: the writers of 4 fields are no longer known: .spec.a, .spec.b, .spec.c and 1 more",
			"kubectl fieldowners migrate TYPE/NAME --from ancient-changes --to MANAGER"}},

		{"a version that nobody knows of", []metav1.ManagedFieldsEntry{inVersion(update("us", a), "unknown/v1", "")}, nil},

		{"a map or an atomic list that it owns as a whole", []metav1.ManagedFieldsEntry{update("x", `{"f:spec":{}}`), apply("us", `{"f:status":{"f:a":{}}}`)}, nil},
		{"a shell, and a value", []metav1.ManagedFieldsEntry{update("x", `{"f:data":{},"f:spec":{"f:a":{}}}`), apply("us", `{"f:data":{"f:k":{}}}`)}, nil},
	} {
		findings, err := lint.Check(c.entries, lint.Facts{Served: served})
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, f.String(), f.Remedy)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

// TestFacts holds the rules that need more than the entries.
func TestFacts(t *testing.T) {
	apply := entry("us", "Apply", `{"f:spec":{"f:a":{}}}`)
	former := inVersion(entry("old", "Update", `{"f:spec":{"f:c":{}}}`), "apps/v1alpha1", "")
	formerApply := inVersion(entry("gone", "Apply", `{"f:spec":{"f:b":{}}}`), "apps/v1alpha1", "")
	entries := []metav1.ManagedFieldsEntry{apply, former, formerApply}
	encoded, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	size := len(encoded)
	for _, c := range []struct {
		reason string
		facts  lint.Facts
		want   []string // rule, first manager, remedy
	}{
		{"nothing is known", lint.Facts{}, nil},
		{"what is served is known", lint.Facts{Served: served}, []string{
			"unserved-version gone/Apply kubectl apply --server-side --field-manager gone -f FILE",
			"unserved-version old/Update kubectl fieldowners migrate TYPE/NAME --from old --to us"}},
		{"half of the object", lint.Facts{ObjectBytes: 2 * size}, nil},
		{"more than half", lint.Facts{ObjectBytes: 2*size - 1}, []string{"large-managed-fields gone/Apply kubectl fieldowners get TYPE/NAME"}},
		{"a size that cannot be", lint.Facts{ObjectBytes: -1}, nil},
	} {
		findings, err := lint.Check(entries, c.facts)
		if err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		var got []string
		for _, f := range findings {
			got = append(got, string(f.Rule)+" "+f.Managers[0].String()+" "+f.Remedy)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestDuplicates(t *testing.T) {
	old := entry("old", "Update", `{"f:spec":{"f:a":{}}}`)
	entries := []metav1.ManagedFieldsEntry{old, inVersion(old, "apps/v1beta1", ""), inVersion(old, "apps/v1", "scale"), entry("old", "Update", `{"f:spec":{"f:b":{}}}`), old}
	findings, err := lint.Check(entries, lint.Facts{})
	if err != nil || len(findings) != 1 || findings[0].Rule != lint.RuleDuplicateEntry ||
		findings[0].Remedy != "kubectl fieldowners migrate TYPE/NAME --from old --to MANAGER" || !strings.Contains(findings[0].Message, "old/Update has several managed fields entries in apps/v1") {
		t.Errorf("%v, %v; want one finding for the three entries of one identity", findings, err)
	}
}

// TestOrder: entries come in the order of their times, findings in that of managers.
func TestOrder(t *testing.T) {
	b, a := entry("b", "Update", `{"f:spec":{"f:b":{}}}`), entry("a", "Update", `{"f:spec":{"f:a":{}}}`)
	findings, err := lint.Check([]metav1.ManagedFieldsEntry{b, a, b, a}, lint.Facts{})
	if err != nil || len(findings) != 2 || findings[0].Managers[0].Name != "a" || findings[1].Managers[0].Name != "b" {
		t.Errorf("%v, %v", findings, err)
	}
}

// TestDuplicatesOfApplier: migrate moves what was updated only.
func TestDuplicatesOfApplier(t *testing.T) {
	twice := entry("us", "Apply", `{"f:spec":{"f:a":{}}}`)
	findings, err := lint.Check([]metav1.ManagedFieldsEntry{twice, twice}, lint.Facts{ObjectBytes: 1})
	if err != nil || len(findings) != 2 || findings[0].Remedy != "kubectl apply --server-side --field-manager us -f FILE" ||
		!strings.Contains(findings[1].Message, "are managed fields of 1 manager,") {
		t.Errorf("%v, %v", findings, err)
	}
}

func TestRefuses(t *testing.T) {
	findings, err := lint.Check([]metav1.ManagedFieldsEntry{
		entry("ancient-changes", "Update", `{"f:a":{}}`), entry("m", "Update", `{"x":{}}`),
	}, lint.Facts{})
	if err == nil || findings != nil || !strings.HasPrefix(err.Error(), `managedFields[1] (manager "m")`) {
		t.Errorf("%v, %v", findings, err)
	}
}
