package fieldowners_test

import (
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"coapply.dev/fieldowners"
)

func TestSameFor(t *testing.T) {
	apply := func(manager, fields string) metav1.ManagedFieldsEntry {
		return entry(manager, metav1.ManagedFieldsOperationApply, fields)
	}
	later := func(e metav1.ManagedFieldsEntry) metav1.ManagedFieldsEntry {
		e.Time = &metav1.Time{Time: time.Unix(1e9, 0)}
		return e
	}
	status := func(fields string) metav1.ManagedFieldsEntry {
		e := entry("them", metav1.ManagedFieldsOperationUpdate, fields)
		e.Subresource = "status"
		return e
	}
	newer := apply("them", `{"f:status":{}}`)
	newer.APIVersion = "apps/v2"
	const one, two = `{"f:spec":{"f:replicas":{}}}`, `{"f:spec":{"f:paused":{},"f:replicas":{}}}`
	const note = `{"f:metadata":{"f:annotations":{"f:note":{}}}}`
	with := func(change func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
		e := apply("us", one)
		change(&e)
		return e
	}
	type entries = []metav1.ManagedFieldsEntry
	for _, test := range []struct {
		reason        string
		before, after entries
		want          bool
	}{
		{"nothing", entries{apply("us", two)}, entries{apply("us", two)}, true},
		{"a time", entries{apply("us", two)}, entries{later(apply("us", two))}, true},
		{"a status of others begins", entries{apply("us", two)}, entries{apply("us", two), status(`{"f:status":{"f:replicas":{}}}`)}, true},
		{"it changes, and so does the order", entries{apply("us", two), status(`{"f:status":{"f:replicas":{}}}`)},
			entries{status(`{"f:status":{"f:ready":{}}}`), apply("us", two)}, true},
		{"a field of others beside ours", entries{apply("us", one)}, entries{apply("us", one), apply("them", `{"f:spec":{"f:paused":{}}}`)}, true},
		{"another's end", entries{apply("us", one), apply("them", note)}, entries{apply("us", one)}, true},
		{"we lost one", entries{apply("us", two)}, entries{apply("us", one)}, false},
		{"we gained one", entries{apply("us", one)}, entries{apply("us", two)}, false},
		{"we lost all", entries{apply("us", one), apply("them", note)}, entries{apply("them", note)}, false},
		{"we own nothing", entries{apply("them", note)}, entries{apply("them", note)}, false},
		{"no managed fields", nil, nil, false},
		{"somebody shares", entries{apply("us", two)}, entries{apply("us", two), apply("them", one)}, false},
		{"somebody shares no longer", entries{apply("us", two), apply("them", one)}, entries{apply("us", two), apply("them", note)}, false},
		{"another one shares", entries{apply("us", two), apply("them", one)}, entries{apply("us", two), apply("others", one)}, false},
		{"an owner of the whole", entries{apply("us", two)}, entries{apply("us", two), apply("them", `{"f:spec":{}}`)}, false},
		{"names of another version", entries{apply("us", two)}, entries{apply("us", two), newer}, false},
		{"malformed, of others", entries{apply("us", two)}, entries{apply("us", two), apply("them", `{"f:spec":[]}`)}, false},
		{"we lost an entry beside the rest", entries{apply("us", one), entry("us", metav1.ManagedFieldsOperationUpdate, note)}, entries{apply("us", one)}, false},
		{"we own nothing, and others something else", entries{apply("them", note)}, entries{apply("them", one)}, false},
		{"the subresource", entries{with(func(e *metav1.ManagedFieldsEntry) { e.Subresource = "scale" })}, entries{apply("us", one)}, false},
		{"the version", entries{with(func(e *metav1.ManagedFieldsEntry) { e.APIVersion = "apps/v2" })}, entries{apply("us", one)}, false},
		{"a type of fields that nobody knows", entries{with(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV2" })},
			entries{with(func(e *metav1.ManagedFieldsEntry) { e.FieldsType = "FieldsV3" })}, false},
		{"the operation", entries{apply("us", one)}, entries{entry("us", metav1.ManagedFieldsOperationUpdate, one)}, false},
	} {
		if got := fieldowners.SameFor("us", test.before, test.after); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}

// TestRapidSameFor: whoever reads through KeepOwn is told the same.
func TestRapidSameFor(t *testing.T) {
	same, other := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		ours := entry("us", metav1.ManagedFieldsOperationApply, jsonOf(drawFields(t, fewElements, 2)))
		state := func() []metav1.ManagedFieldsEntry {
			return []metav1.ManagedFieldsEntry{ours, entry("them", metav1.ManagedFieldsOperationUpdate, jsonOf(drawFields(t, fewElements, 3)))}
		}
		before, after := state(), state()
		want := fieldowners.SameFor("us", before, after)
		kept := func(entries []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
			object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ManagedFields: entries}}
			if _, err := fieldowners.KeepOwn("us")(object); err != nil {
				t.Fatal(err)
			}
			return object.ManagedFields
		}
		if got := fieldowners.SameFor("us", kept(before), kept(after)); got != want {
			t.Fatalf("through KeepOwn %t, else %t\n%s\n%s", got, want, jsonOf(before), jsonOf(after))
		}
		if want {
			same++
		} else {
			other++
		}
	})
	if same == 0 || other == 0 {
		t.Errorf("%d the same, %d not: one of the cases never came", same, other)
	}
}

func TestSameValues(t *testing.T) {
	const owned = `{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:args":{},"f:finalizers":{"v:\"a\"":{}},` +
		`"f:ports":{"k:{\"port\":80}":{".":{},"f:nodePort":{},"f:port":{}}}}}`
	const object = `{"metadata":{"labels":{"app":"web","team":"red"}},"spec":{"replicas":2,"args":["a","b"],"finalizers":["a","b"],` +
		`"ports":[{"port":80,"nodePort":30080,"name":"http"},{"port":90}]},"status":{"ready":1}}`
	ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry("us", metav1.ManagedFieldsOperationApply, owned)})
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) (content map[string]any) {
		if err := json.Unmarshal([]byte(text), &content); err != nil {
			t.Fatal(err)
		}
		return content
	}
	for _, test := range []struct {
		reason, after string
		want          bool
	}{
		{"nothing", object, true},
		{"what is not ours", `{"metadata":{"labels":{"app":"web"},"name":"x"},"spec":{"replicas":2,"paused":true,"args":["a","b"],"finalizers":["a"],` +
			`"ports":[{"port":70},{"name":"web","nodePort":30080,"port":80}]}}`, true},
		{"a label", `{"metadata":{"labels":{"app":"x"}},"spec":{"replicas":2,"args":["a","b"],"finalizers":["a"],"ports":[{"port":80,"nodePort":30080}]}}`, false},
		{"all labels gone", `{"metadata":{},"spec":{"replicas":2,"args":["a","b"],"finalizers":["a"],"ports":[{"port":80,"nodePort":30080}]}}`, false},
		{"a number", `{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":3,"args":["a","b"],"finalizers":["a"],"ports":[{"port":80,"nodePort":30080}]}}`, false},
		{"a list that is owned as a whole", `{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2,"args":["a","b","c"],"finalizers":["a"],"ports":[{"port":80,"nodePort":30080}]}}`, false},
		{"an item of a set", `{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2,"args":["a","b"],"finalizers":["b"],"ports":[{"port":80,"nodePort":30080}]}}`, false},
		{"a node port that the server drops", `{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2,"args":["a","b"],"finalizers":["a"],"ports":[{"port":80}]}}`, false},
		{"an item", `{"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2,"args":["a","b"],"finalizers":["a"],"ports":[{"port":90}]}}`, false},
		{"everything", `{}`, false},
	} {
		if got := ownership.Entries()[0].SameValues(parse(object), parse(test.after)); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}
