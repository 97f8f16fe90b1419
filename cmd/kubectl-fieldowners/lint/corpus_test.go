package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/lint"
)

func recorded(tb testing.TB, path string) *unstructured.Unstructured {
	tb.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		tb.Fatal(err)
	}
	return object
}

// TestCorpus looks at what a real API server recorded: what is told of it, and
// that nothing is told of the rest.
func TestCorpus(t *testing.T) {
	paths, err := filepath.Glob("../../../fieldowners/testdata/objects/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	got := map[string]string{}
	for _, path := range paths {
		findings, err := lint.Check(recorded(t, path).GetManagedFields(), lint.Facts{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, f := range findings {
			got[strings.TrimSuffix(filepath.Base(path), ".yaml")] += string(f.Rule) + " " + f.Managers[0].String() + ";"
		}
	}
	want := map[string]string{
		"ancient-changes":    "ancient-changes ancient-changes/Update;",
		"autoscaler":         "shared-by-update operator/Update;",
		"before-first-apply": "before-first-apply before-first-apply/Update;",
		"deployment":         "client-side-apply kubectl-client-side-apply/Update;",
		"scaled":             "duplicate-entry kubectl-client-side-apply/Update;",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// BenchmarkCheck is what an audit pays for each object, with what was parsed before.
func BenchmarkCheck(b *testing.B) {
	entries := recorded(b, "../testdata/objects/deployment.yaml").GetManagedFields()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lint.Check(entries, lint.Facts{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(entries)), "managers")
}
