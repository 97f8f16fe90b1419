package config_test

import (
	"path/filepath"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A column of type date is shown as how long ago it was, and as <invalid> where it is to
// come, as the end of a License is.
func TestDateColumnsArePast(t *testing.T) {
	files, err := filepath.Glob("crd/platform*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	for _, file := range files {
		read, err := readObjects(file)
		if err != nil || len(read) != 1 {
			t.Fatalf("%s: %d objects, %v", file, len(read), err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read[0].Object, &crd); err != nil {
			t.Fatal(file, err)
		}
		for _, version := range crd.Spec.Versions {
			for _, column := range version.AdditionalPrinterColumns {
				if column.Type == "date" && column.JSONPath != ".metadata.creationTimestamp" {
					t.Errorf("%s: column %s is a date that may be to come: make it a string", file, column.Name)
				}
			}
		}
	}
}
