package fieldowners_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// TestGolden reads what an API server recorded (test/integration's
// TestFieldownersCorpus) and compares with "manager: path" lines. With
// APPLYTEST_UPDATE=1 it writes them.
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/objects/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d objects, %v", len(files), err)
	}
	for _, file := range files {
		got, golden := goldenLines(t, file), strings.TrimSuffix(file, ".yaml")+".golden"
		if os.Getenv("APPLYTEST_UPDATE") == "1" {
			if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", golden, diff)
		}
	}
}

// goldenLines has a line for each field, and one for a manager that owns none. Every
// field stands in the object, but for those of a version other than the object's.
func goldenLines(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var object unstructured.Unstructured
	if err := yaml.Unmarshal(text, &object.Object); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	for _, e := range ownership(t, object.GetManagedFields()...).Entries() {
		who := e.Manager.String() + " " + e.APIVersion
		if len(e.Fields()) == 0 {
			fmt.Fprintf(&lines, "%s owns nothing\n", who)
		}
		for _, path := range e.Fields() {
			fmt.Fprintf(&lines, "%s: %s\n", who, path)
			if _, has := path.Value(object.Object); !has && e.APIVersion == object.GetAPIVersion() {
				t.Errorf("%s: %s is not in the object", file, path)
			}
			if again := fieldowners.MustParsePath(path.String()); !again.Equal(path) {
				t.Errorf("%s: %s is read as %s", file, path, again)
			}
		}
	}
	return lines.String()
}
