package docs_test

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coapply.dev/fieldowners/contract"
	"coapply.dev/internal/controller/fieldmanagers"
)

const (
	ownersBegin = "<!-- who owns which field: DOCS_UPDATE=1 go test ./docs -run Owners writes it -->\n"
	ownersEnd   = "<!-- end of who owns which field -->\n"
)

// TestOwners holds the table in docs/architecture.md to what the field managers
// claim, which tests of each kind hold to what is emitted.
func TestOwners(t *testing.T) {
	file := filepath.Join(root, "docs", "architecture.md")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), ownersBegin)
	table, after, ends := strings.Cut(rest, ownersEnd)
	if !begins || !ends {
		t.Fatalf("%s does not have the lines %s and %s", file, ownersBegin, ownersEnd)
	}
	want := ownersTable()
	switch {
	case table == want:
	case os.Getenv("DOCS_UPDATE") == "1":
		if err := os.WriteFile(file, []byte(before+ownersBegin+want+ownersEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s does not say who owns which field. Write it with DOCS_UPDATE=1 go test ./docs -run Owners. It should be:\n%s", file, want)
	}
}

func ownersTable() string {
	claims := fieldmanagers.All()
	slices.SortStableFunc(claims, func(a, b contract.Claim) int {
		return cmp.Or(strings.Compare(a.Kind.String(), b.Kind.String()), strings.Compare(a.Manager, b.Manager))
	})
	table := "| Kind | Field manager | Applied | By get-modify-update |\n|---|---|---|---|\n"
	for _, claim := range claims {
		applied, updated := inCode(claim.Applies), inCode(claim.Updates)
		for _, why := range slices.Compact(slices.Sorted(maps.Values(claim.Shared))) {
			applied = append(applied, "shared: "+why)
		}
		table += "| " + strings.Join([]string{claim.Kind.String(), "`" + claim.Manager + "`", strings.Join(applied, ", "), strings.Join(updated, ", ")}, " | ") + " |\n"
	}
	return table
}

func inCode(paths []string) []string {
	quoted := make([]string, len(paths))
	for i, path := range paths {
		quoted[i] = "`" + path + "`"
	}
	return quoted
}
