package owneraudit_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"coapply.dev/cmd/kubectl-fieldowners/internal/owneraudit"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// TestWideFits: a screen without room for the columns of -o wide shows the same below each
// other, and cuts nothing.
func TestWideFits(t *testing.T) {
	long := owneraudit.Manager{Name: "kubernetes-service-cidr-controller", Operation: "Apply", Subresource: "status"}
	kinds := []owneraudit.Kind{{Kind: "CustomResourceDefinition", Objects: 7}, {Kind: "ValidatingAdmissionPolicyBinding", Objects: 20}}
	path := `.spec.template.spec.containers[name="web"].image`
	report := owneraudit.Report{
		Managers: []owneraudit.ManagerRow{{Manager: long, Objects: 27, Fields: 1, Kinds: kinds, APIVersions: []string{"a/v1", "b/v1"}}},
		Overlaps: []owneraudit.Overlap{{Managers: [2]owneraudit.Manager{long, long}, Fields: 1, Objects: 27, Path: path,
			Example: view.Ref{Kind: "CustomResourceDefinition", Name: "website"}}},
	}
	for _, width := range []int{0, 80, 160, 300} {
		var out bytes.Buffer
		owneraudit.Print(&out, report, view.Screen{Width: width}, true)
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); width > 0 && utf8.RuneCountInString(line) > width {
				t.Errorf("wider than %d: %s", width, line)
			}
		}
		for _, whole := range []string{long.Name, path, "CustomResourceDefinition:7", "ValidatingAdmissionPolicyBinding:20", "b/v1"} {
			if !strings.Contains(out.String(), whole) {
				t.Errorf("%d columns: %s is not in\n%s", width, whole, out.String())
			}
		}
		if table := strings.HasPrefix(out.String(), "MANAGER "); table != (width == 0 || width == 300) {
			t.Errorf("%d columns: a table is %v:\n%s", width, table, out.String())
		}
	}
}
