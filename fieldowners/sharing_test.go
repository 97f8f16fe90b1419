package fieldowners_test

import (
	"encoding/json"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"coapply.dev/fieldowners"
)

// keptWith returns the managers whose entries are left in a cache of the manager "us",
// typed, and the same unstructured where fields are JSON.
func keptWith(t interface {
	Fatal(args ...any)
	Errorf(format string, args ...any)
}, entries ...metav1.ManagedFieldsEntry) []string {
	transform := fieldowners.KeepOwn("us")
	typed := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x", ManagedFields: entries}}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	forms := []metav1.Object{typed}
	if err == nil {
		forms = append(forms, &unstructured.Unstructured{Object: content})
	}
	kept := make([][]string, len(forms))
	for i, object := range forms {
		for range 2 { // a cache may transform an object more than once
			if _, err := transform(object); err != nil {
				t.Fatal(err)
			}
		}
		for _, entry := range object.GetManagedFields() {
			kept[i] = append(kept[i], entry.Manager)
		}
	}
	if last := kept[len(kept)-1]; !slices.Equal(kept[0], last) {
		t.Errorf("typed %v, unstructured %v", kept[0], last)
	}
	return kept[0]
}

func TestKeepOwnKeepsWhoShares(t *testing.T) {
	const (
		ours = `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:selector":{},"f:template":{"f:containers":{` +
			`"k:{\"name\":\"web\"}":{".":{},"f:image":{},"f:limits":{"f:cpu":{}}}}}}}`
		theirs = `{"f:spec":{"f:template":{"f:containers":`
	)
	newer := entry("them", metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:replicas":{}}}`)
	newer.APIVersion = "apps/v2"
	unknown := entry("them", metav1.ManagedFieldsOperationApply, `{"f:status":{}}`)
	unknown.FieldsType = "FieldsV2"
	update := func(fields string) metav1.ManagedFieldsEntry {
		return entry("them", metav1.ManagedFieldsOperationUpdate, fields)
	}
	for _, test := range []struct {
		reason string
		them   metav1.ManagedFieldsEntry
		kept   bool
	}{
		{"a status", update(`{"f:status":{"f:replicas":{}}}`), false},
		{"another field of the spec", update(`{"f:spec":{"f:replicas":{}}}`), false},
		{"our field", update(theirs + `{"k:{\"name\":\"web\"}":{"f:image":{}}}}}}`), true},
		{"the same of another item", update(theirs + `{"k:{\"name\":\"log\"}":{".":{},"f:image":{}}}}}}`), false},
		{"that our item exists", update(theirs + `{"k:{\"name\":\"web\"}":{".":{},"f:tty":{}}}}}}`), true},
		{"another field of our item", update(theirs + `{"k:{\"name\":\"web\"}":{"f:tty":{}}}}}}`), false},
		{"that the map around our label exists", update(`{"f:metadata":{"f:labels":{".":{},"f:tier":{}}}}`), false},
		{"all of the map around our label", update(`{"f:metadata":{"f:labels":{}}}`), true},
		{"a part of what we have whole", update(`{"f:spec":{"f:selector":{"f:app":{}}}}`), true},
		{"the first of two fields of a map", update(`{"f:metadata":{"f:labels":{"f:app":{},"f:tier":{}}}}`), true},
		{"the first of two fields", update(`{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{"f:x":{}}}}`), true},
		{"all of the spec", update(`{"f:spec":{}}`), true},
		{"nothing", update(`{}`), false},
		{"the same, written with an escape", update(`{"f:sp\u0065c":{"f:selector":{}}}`), true},
		{"the names of another version", newer, true},
		{"fields of an unknown type", unknown, true},
		{"cut off", update(`{"f:status":{"f:replicas":`), true},
		{"cut off within a name", update(`{"f:stat`), true},
		{"malformed", update(`{"f:spec":{"x:replicas":{}}}`), true},
		{"no object", update(`[]`), true},
	} {
		got := keptWith(t, test.them, entry("us", metav1.ManagedFieldsOperationApply, ours))
		if slices.Contains(got, "them") != test.kept || !slices.Contains(got, "us") {
			t.Errorf("%s: kept %v", test.reason, got)
		}
	}
	for _, own := range [][]string{
		{`{"f:metadata":{}}`, `{"f:sp\u0065c":{"f:selector":{}}}`},
		{`{"f:metadata":{}}`, `{"f:sp\u0065c":{"f:selector":{}}}`, `{"f:metadata":{}}`},
		{`{"f:spec":{"f:paused":{},"f:selector":{}}}`},
		{`{"f:metadata":{},"f:spec":{"f:paused":{},"f:zone":{}}}`},
	} {
		entries := []metav1.ManagedFieldsEntry{update(`{"f:spec":{"f:paused":{"f:x":{}},"f:selector":{}}}`)}
		for i, fields := range own {
			ours := entry("us", metav1.ManagedFieldsOperationApply, fields)
			ours.Subresource = []string{"", "scale", "other"}[i]
			entries = append(entries, ours)
		}
		if got := keptWith(t, entries...); !slices.Contains(got, "them") {
			t.Errorf("of %q, %v are kept", own, got)
		}
	}
	missing := update("")
	missing.FieldsV1 = nil
	if got := keptWith(t, missing, entry("us", metav1.ManagedFieldsOperationApply, ours)); len(got) != 2 {
		t.Errorf("where fields are missing, %v are kept", got)
	}
	broken := entry("us", metav1.ManagedFieldsOperationApply, `{"f:spec":{"x:replicas":{}}}`)
	if got := keptWith(t, update(`{"f:spec":{"f:replicas":{}}}`), broken); len(got) != 2 {
		t.Errorf("where ours is malformed, %v are kept", got)
	}
}

// TestRapidKeepOwn holds what is kept to the definition, field by field.
func TestRapidKeepOwn(t *testing.T) {
	kept, dropped := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		entries := []metav1.ManagedFieldsEntry{
			entry("us", metav1.ManagedFieldsOperationApply, jsonOf(drawFields(t, fewElements, 3))),
			entry("them", metav1.ManagedFieldsOperationUpdate, jsonOf(drawFields(t, fewElements, 3))),
		}
		ownership, err := fieldowners.Parse(entries)
		if err != nil {
			t.Skip(err)
		}
		both := ownership.Entries()
		want := slices.ContainsFunc(both[0].Fields(), func(path fieldowners.Path) bool { return both[1].Owns(path) }) ||
			above(both[0], both[1]) || above(both[1], both[0])
		got := slices.Contains(keptWith(t, entries...), "them")
		if got != want {
			t.Fatalf("kept: %v, want %v\n%s", got, want, jsonOf(entries))
		}
		if got {
			kept++
		} else {
			dropped++
		}
	})
	if kept == 0 || dropped == 0 {
		t.Errorf("%d kept, %d dropped: one of the cases never came", kept, dropped)
	}
}

// above reports whether a leaf of one stands above a field of the other.
func above(one, other fieldowners.Entry) bool {
	return slices.ContainsFunc(one.Leaves(), func(leaf fieldowners.Path) bool {
		return slices.ContainsFunc(other.Fields(), func(path fieldowners.Path) bool { return path.HasPrefix(leaf) })
	})
}

// BenchmarkKeepOwn is what an event of a watch costs: a Deployment with our two
// managers, its status, and one who scales it.
func BenchmarkKeepOwn(b *testing.B) {
	const status = `{"f:metadata":{"f:annotations":{".":{},"f:deployment.kubernetes.io/revision":{}}},"f:status":{` +
		`"f:availableReplicas":{},"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},` +
		`"f:lastUpdateTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}`
	apply, update := metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	own := []metav1.ManagedFieldsEntry{entry("us", apply, deploymentFields), entry("us-too", apply, `{"f:spec":{"f:paused":{}}}`)}
	scaled := entry("kubectl", update, `{"f:spec":{"f:replicas":{}}}`)
	for _, test := range []struct {
		name    string
		entries []metav1.ManagedFieldsEntry
	}{
		{"nothing of others", own},
		{"nothing of ours", []metav1.ManagedFieldsEntry{entry("kube-controller-manager", update, status)}},
		{"apart", append(slices.Clone(own), entry("other", update, `{"f:status":{"f:replicas":{},"f:readyReplicas":{}}}`))},
		{"mixed", append(slices.Clone(own), scaled, entry("kube-controller-manager", update, status))},
	} {
		for _, form := range []string{"typed", "unstructured"} {
			b.Run(test.name+"/"+form, func(b *testing.B) { benchmarkKeepOwn(b, test.entries, form == "typed") })
		}
	}
}

func benchmarkKeepOwn(b *testing.B, entries []metav1.ManagedFieldsEntry, typed bool) {
	transform := fieldowners.KeepOwn("us", "us-too")
	object := &corev1.ConfigMap{}
	var list []any
	if err := json.Unmarshal([]byte(jsonOf(entries)), &list); err != nil {
		b.Fatal(err)
	}
	metadata := map[string]any{}
	free := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}
	b.ReportAllocs()
	for b.Loop() {
		var target any = object
		if typed {
			object.ManagedFields = entries
		} else {
			metadata["managedFields"], target = list, free
		}
		if _, err := transform(target); err != nil {
			b.Fatal(err)
		}
	}
}
