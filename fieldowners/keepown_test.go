package fieldowners_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"coapply.dev/fieldowners"
)

const threeManagers = `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"},"metadata":{"name":"x","managedFields":[` +
	`{"manager":"a","operation":"Apply","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}},` +
	`{"manager":"b","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:b":{}}}},` +
	`{"manager":"a","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:c":{}}}}]}}`

func TestKeepOwn(t *testing.T) {
	for _, test := range []struct {
		reason string
		keep   []string
		want   []string
	}{
		{"one manager, both operations", []string{"a"}, []string{"a/Apply", "a/Update"}},
		{"all", []string{"a", "b"}, []string{"a/Apply", "a/Update", "b/Update"}},
		{"nobody has this name", []string{"c"}, nil},
		{"no names", nil, nil},
	} {
		transform := fieldowners.KeepOwn(test.keep...)
		for _, object := range []metav1.Object{&corev1.ConfigMap{}, &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}} {
			if err := json.Unmarshal([]byte(threeManagers), object); err != nil {
				t.Fatal(err)
			}
			for range 2 { // a cache may transform an object more than once
				got, err := transform(object)
				if err != nil || got != any(object) {
					t.Fatalf("%s, %T: %v, %v; want the object itself", test.reason, object, got, err)
				}
				var managers []string
				for _, entry := range ownership(t, object.GetManagedFields()...).Entries() {
					managers = append(managers, entry.Manager.String())
				}
				if diff := cmp.Diff(test.want, managers); diff != "" {
					t.Errorf("%s, %T (-want +got):\n%s", test.reason, object, diff)
				}
			}
		}
	}
}

// TestKeepOwnReleases holds that dropped entries are not kept in what is left of
// the slice, and that whoever had the slice still has them all.
func TestKeepOwnReleases(t *testing.T) {
	var object corev1.ConfigMap
	if err := json.Unmarshal([]byte(threeManagers), &object); err != nil {
		t.Fatal(err)
	}
	before, transform := object.ManagedFields, fieldowners.KeepOwn("b")
	if _, err := transform(&object); err != nil {
		t.Fatal(err)
	}
	if len(object.ManagedFields) != 1 || len(ownership(t, before...).Entries()) != 3 {
		t.Errorf("%v, before %v", object.ManagedFields, before)
	}
}

func TestKeepOwnUnstructured(t *testing.T) {
	malformed := map[string]any{"manager": "a", "fieldsV1": "no object"}
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
		"managedFields": []any{malformed, "no entry", nil, map[string]any{"manager": int64(1)}, map[string]any{"manager": "b"}},
	}}}
	want := object.DeepCopy().Object // nothing can be judged
	if _, err := fieldowners.KeepOwn("a")(object); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, object.Object); diff != "" {
		t.Errorf("malformed entries (-want +got):\n%s", diff)
	}
}

func TestKeepOwnPasses(t *testing.T) {
	type tombstone struct { // as cache.DeletedFinalStateUnknown of client-go
		Key string
		Obj any
	}
	typed := &corev1.ConfigMap{}
	if err := json.Unmarshal([]byte(threeManagers), typed); err != nil {
		t.Fatal(err)
	}
	for reason, object := range map[string]any{
		"a tombstone":              tombstone{"x/y", typed},
		"a tombstone by reference": &tombstone{"x/y", typed},
		"nothing":                  nil,
		"a nil object":             (*corev1.ConfigMap)(nil),
		"a nil unstructured one":   (*unstructured.Unstructured)(nil),
		"an empty one":             &unstructured.Unstructured{},
		"a list":                   &corev1.ConfigMapList{Items: []corev1.ConfigMap{*typed}},
		"another thing":            7,
	} {
		got, err := fieldowners.KeepOwn("b")(object)
		if err != nil || !cmp.Equal(got, object) {
			t.Errorf("%s: %v, %v", reason, got, err)
		}
	}
	if len(typed.ManagedFields) != 3 {
		t.Error("the object in the tombstone changed")
	}
}

// TestKeepOwnOfAnotherShape: what are no entries stays as it is.
func TestKeepOwnOfAnotherShape(t *testing.T) {
	metadata := map[string]any{"managedFields": "x"}
	if _, err := fieldowners.KeepOwn("us")(&unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}); err != nil || metadata["managedFields"] != "x" {
		t.Errorf("%v, %v", metadata, err)
	}
}

func TestKeepOwnKeepsItsArguments(t *testing.T) {
	managers := []string{"us"}
	transform := fieldowners.KeepOwn(managers...)
	managers[0] = "others"
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		exampleEntry("us", "Apply", `{"f:spec":{"f:a":{}}}`), exampleEntry("others", "Apply", `{"f:spec":{"f:b":{}}}`),
	}}}
	if _, err := transform(object); err != nil || len(object.ManagedFields) != 1 || object.ManagedFields[0].Manager != "us" {
		t.Errorf("%v, kept %v; want the entry of us", err, object.ManagedFields)
	}
}
