package fieldowners

import (
	"bytes"
	"os"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/yaml"
)

// deploymentEntries are those of a Deployment with eight managers, as the API
// server recorded them.
func deploymentEntries(b *testing.B) []metav1.ManagedFieldsEntry {
	b.Helper()
	text, err := os.ReadFile("testdata/objects/deployment.yaml")
	if err != nil {
		b.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		b.Fatal(err)
	}
	entries := object.GetManagedFields()
	if len(entries) != 8 {
		b.Fatalf("%d entries, want those of 8 managers", len(entries))
	}
	return entries
}

// BenchmarkDeployment reads managed fields next to what structured-merge-diff alone
// takes for them, and prints what was read.
func BenchmarkDeployment(b *testing.B) {
	entries := deploymentEntries(b)
	fromJSON := func() error {
		for _, entry := range entries {
			if err := fieldpath.NewSet().FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
				return err
			}
		}
		return nil
	}
	parse := func() error {
		_, err := Parse(entries)
		return err
	}
	parseAndPrint := func() error {
		ownership, err := Parse(entries)
		for _, entry := range ownership.Entries() {
			for _, path := range entry.Fields() {
				_ = path.String()
			}
		}
		return err
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"smd.FromJSON", fromJSON}, {"Parse", parse}, {"ParseAndPrint", parseAndPrint},
	} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := step.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
