package owneraudit

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"coapply.dev/fieldowners"
)

// TestScan holds scan against Entry.Fields, over what an API server recorded.
func TestScan(t *testing.T) {
	files, err := filepath.Glob("../../../../fieldowners/testdata/objects/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d objects, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(text, &object); err != nil {
			t.Fatal(file, err)
		}
		live := unstructured.Unstructured{Object: object}
		compareScan(t, live.GetManagedFields())
	}
}

func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{".":{}}`, ` { "f:a" : { "." : { } , "f:b" : {} } } `, `{"f:a\"b":{"f:\\":{},"f:\\\"":{".":{}}}}`,
		`{"f:l":{".":{},"k:{\"name\":\"a\"}":{".":{},"f:name":{}},"v:\"x\"":{},"i:3":{}}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, fields string) {
		entry := metav1.ManagedFieldsEntry{Manager: "m", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
		if _, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry}); err == nil {
			compareScan(t, []metav1.ManagedFieldsEntry{entry})
		}
	})
}

// compareScan holds that scan finds as many fields and leaves as Entry.Fields has, and
// gives paths of several entries one hash exactly if they are the same.
func compareScan(t *testing.T, entries []metav1.ManagedFieldsEntry) {
	t.Helper()
	var s scan
	hashes := map[uint64]int{} // and how many entries name the path
	paths := map[string]int{}
	leaves, want := 0, 0
	for i := range entries {
		ownership, err := fieldowners.Parse(entries[i : i+1])
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range ownership.Entries() {
			want += len(entry.Leaves())
			for _, path := range entry.Fields() {
				paths[path.String()]++
			}
		}
		s.add(entries[i].FieldsV1.GetRawBytes(), i)
	}
	for _, f := range s.found {
		hashes[f.path]++
		if f.leaf {
			leaves++
		}
	}
	if leaves != want || len(hashes) != len(paths) {
		t.Fatalf("%d leaves of %d paths, want %d of %d", leaves, len(hashes), want, len(paths))
	}
	owned, wantOwned := counts(hashes), counts(paths)
	for n, k := range wantOwned {
		if owned[n] != k {
			t.Fatalf("%d paths in %d entries, want %d", owned[n], n, k)
		}
	}
}

// counts tells how many keys have each value.
func counts[K comparable](of map[K]int) map[int]int {
	found := map[int]int{}
	for _, n := range of {
		found[n]++
	}
	return found
}
