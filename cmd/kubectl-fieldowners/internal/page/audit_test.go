package page_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

func auditPage(t *testing.T, report owneraudit.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.Audit(&out, about(), report); err != nil {
		t.Fatal(err)
	}
	checkPage(t, out.String())
	return out.String()
}

// TestAudit shows what a page of an audit consists of.
func TestAudit(t *testing.T) {
	written := time.Date(2026, 1, 30, 12, 0, 0, 0, time.UTC)
	alice := owneraudit.Manager{Name: "alice", Operation: "Apply"}
	hpa := owneraudit.Manager{Name: "hpa", Operation: "Update", Subresource: "scale"}
	deployment := view.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	golden(t, "audit.html", auditPage(t, owneraudit.Report{
		Complete: true, Objects: 12_345, Bytes: 678,
		Managers: []owneraudit.ManagerRow{
			{Manager: alice, Objects: 12_000, Fields: 40, Shared: 10, Bytes: 600, LastWrite: &written,
				Kinds: []owneraudit.Kind{{Kind: "A"}, {Kind: "B"}, {Kind: "C"}, {Kind: "D"}, {Kind: "E"}}},
			{Manager: hpa, Objects: 1, Fields: 10, Shared: 10, Bytes: 78, Kinds: []owneraudit.Kind{{Kind: "A"}}},
		},
		Findings: []owneraudit.Finding{
			{Rule: "one", Manager: &alice, Objects: 3, Remedy: "Do it.", Examples: []owneraudit.Example{{Ref: deployment, Message: "is so"}}},
			{Rule: "one", Manager: &hpa, Objects: 1, Remedy: "Do it.", Examples: []owneraudit.Example{{Ref: deployment, Message: "is so, too"}}},
			{Rule: "two", Manager: &alice, Objects: 2, Remedy: "Do this."},
			{Rule: "two", Objects: 1, Remedy: "Do that."},
		},
		Lists: []owneraudit.List{{Resource: "deployments.apps", Objects: 12_345, Snapshot: true}},
	}))
}

// TestAuditNotKnown holds that a page says what it does not know.
func TestAuditNotKnown(t *testing.T) {
	html := auditPage(t, owneraudit.Report{Objects: 3, ManagedFieldsAbsent: 2, Problems: []string{"secrets is forbidden"}, ProblemCount: 7})
	has(t, html, "7 problems.", "secrets is forbidden", "The first 1 of them.", "managedFields absent</strong> from 2 objects", "Nothing found.")
	hasNot(t, html, "--show-managed-fields") // a cluster has no files to save otherwise
	has(t, auditPage(t, owneraudit.Report{}), "<strong>Incomplete.</strong>")
	hasNot(t, auditPage(t, owneraudit.Report{Complete: true}), `class="warning"`)
	has(t, auditPage(t, owneraudit.Report{Complete: true, LeftOut: owneraudit.LeftOut{Managers: 5}}), "5 entries of further managers")
}

// TestAuditHostile puts into every place what a page must show as text, and more than
// it has room for.
func TestAuditHostile(t *testing.T) {
	const evil = "<script>\x1b\u202e\"'{{.}}"
	manager := owneraudit.Manager{Name: evil, Operation: evil, Subresource: evil}
	ref := view.Ref{APIVersion: evil, Kind: evil, Namespace: evil, Name: evil}
	report := owneraudit.Report{Problems: []string{evil}, ProblemCount: 1, Lists: []owneraudit.List{{Resource: evil, Namespace: evil}}}
	for i := range 600 {
		report.Managers = append(report.Managers, owneraudit.ManagerRow{Manager: manager, Kinds: []owneraudit.Kind{{Kind: evil}}})
		report.Findings = append(report.Findings, owneraudit.Finding{
			Rule: evil, Manager: &manager, Remedy: fmt.Sprint(evil, i), Examples: []owneraudit.Example{{Ref: ref, Message: evil}},
		})
	}
	html := auditPage(t, report)
	hasNot(t, html, "<script", "\x1b", "\u202e")
	has(t, html, "100 more managers: see -o json", "100 more findings: see -o json")
	if rows := strings.Count(html, "<tr>"); rows != 2*500+4 {
		t.Errorf("%d rows", rows)
	}
}
