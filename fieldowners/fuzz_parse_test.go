package fieldowners

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
)

// FuzzParse holds that any bytes are either refused, whole and in one line, or read
// as structured-merge-diff reads them, and then written and read without loss.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"f:spec":{"k:{\"name\":\"web\"}":{".":{},"v:1":{},"i:3":{}}}}`,
		`{"f:a.b/c\u00e9\"":{"v:\"x\"":{},"v:1e3":{},"v:null":{}},"f:":{}}`,
		`{"f:l":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},".":{}}`,
		` { "f:b" : { } , "f:a" : {".":{}} } `, `{"f:a":{"f:b":{}},"f:a":{}}`, `null`, `{"x:a":{}}`, `{"k:{\"n\":1}z":{}}`, `{"v:":{}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, fields []byte) {
		ownership, err := Parse([]metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(string(fields))}})
		if err != nil {
			if ownership.entries != nil || strings.Contains(err.Error(), "\n") {
				t.Fatalf("%v with %v", ownership, err)
			}
			return
		}
		set, reference := ownership.entries[0].fields, fieldpath.NewSet()
		if err := reference.FromJSON(strings.NewReader(string(fields))); err != nil || !reference.Equals(set) {
			t.Fatalf("structured-merge-diff reads %q as\n%s\n(%v), we as\n%s", fields, reference, err, set)
		}
		entries, err := ownership.ManagedFields()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(entries)
		if err != nil || !again.Equal(ownership) {
			t.Fatalf("%q was written as %q (%v)", fields, entries[0].FieldsV1.GetRawBytes(), err)
		}
		checkPaths(t, ownership.entries[0])
	})
}

// checkPaths holds that what is listed is owned, once, and is read as it is written.
func checkPaths(t *testing.T, entry Entry) {
	paths := entry.Fields()
	if len(paths) != entry.fields.Size() {
		t.Fatalf("%d paths of %d fields", len(paths), entry.fields.Size())
	}
	for i, path := range paths {
		if !entry.Owns(path) || i > 0 && path.Compare(paths[i-1]) <= 0 {
			t.Fatalf("%s: not owned, or not behind the one before it", path)
		}
		if again, err := ParsePath(path.String()); err != nil || !again.Equal(path) {
			t.Fatalf("%s is read as %s (%v)", path, again, err)
		}
	}
}
