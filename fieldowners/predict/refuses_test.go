package predict_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/predict"
)

func TestRefuses(t *testing.T) {
	ok := func() map[string]any { return map[string]any{"apiVersion": "v1", "kind": "ConfigMap"} }
	with := func(fields ...any) map[string]any {
		object := ok()
		for i := 0; i < len(fields); i += 2 {
			object[fields[i].(string)] = fields[i+1]
		}
		return object
	}
	owned := func(fields any) map[string]any {
		return with("metadata", map[string]any{"name": "a", "managedFields": []any{map[string]any{
			"manager": "other", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}}})
	}
	deep := any("x")
	for range 1200 {
		deep = map[string]any{"a": deep}
	}
	for name, test := range map[string]struct {
		live, intent map[string]any
		manager, sub string
		want         string
	}{
		"no manager":               {intent: ok(), manager: "-", want: "the field manager has no name"},
		"no intent":                {want: "apiVersion or kind is missing"},
		"a kind that is none":      {intent: with("kind", int64(3)), want: "apiVersion or kind is missing"},
		"no version":               {intent: map[string]any{"kind": "ConfigMap"}, want: "apiVersion or kind is missing"},
		"a live object of no kind": {live: with("kind", nil), intent: ok(), want: "its .kind is ConfigMap, that of the live object <nil>"},
		"metadata that are none":   {intent: with("metadata", "x"), want: ".metadata is no map"},
		"managed fields sent":      {intent: with("metadata", map[string]any{"managedFields": []any{}}), want: "must not be set"},
		"scale":                    {intent: ok(), sub: "scale", want: `subresource "scale": only`},
		"a status to create":       {intent: ok(), sub: "status", want: "does not create one"},
		"without managed fields":   {live: ok(), intent: ok(), want: "--show-managed-fields"},
		"an empty list of them":    {live: with("metadata", map[string]any{"managedFields": []any{}}), intent: ok(), want: "managed fields absent"},
		"managed fields of text":   {live: with("metadata", map[string]any{"managedFields": "x"}), intent: ok(), want: "metadata.managedFields is no list of entries"},
		"not to be encoded":        {live: with("metadata", map[string]any{"managedFields": []any{make(chan int)}}), intent: ok(), want: `managedFields[0] (manager ""): json`},
		"malformed fields":         {live: owned("x"), intent: ok(), want: `managedFields[0] (manager "other")`},
		"another kind":             {live: with("kind", "Secret"), intent: ok(), want: "its .kind is ConfigMap, that of the live object Secret"},
		"another version":          {live: with("apiVersion", "v2"), intent: ok(), want: "the live object is in v2, the intent in v1"},
		"another name": {live: with("metadata", map[string]any{"name": "b"}), intent: with("metadata", map[string]any{"name": "a"}),
			want: "its .metadata.name is a, that of the live object b"},
		"an odd name": {live: with("metadata", map[string]any{"name": map[string]any{"a": "b"}}), intent: with("metadata", map[string]any{"name": map[string]any{}}),
			want: "its .metadata.name is"},
		"a Go value": {intent: with("data", map[string]any{"a": []any{int64(1), 2}}), want: "intent: .data.a[1] is a Go int"},
		"a depth":    {intent: with("data", deep), want: "intent: nested deeper than 1000 levels"},
		"a member twice": {live: owned(map[string]any{"f:data": map[string]any{}}), want: "the API server would refuse it",
			intent: with("metadata", map[string]any{"finalizers": []any{"a/b", "a/b"}})},
		"a member twice, with the reason": {live: owned(map[string]any{"f:data": map[string]any{}}), want: "duplicate",
			intent: with("metadata", map[string]any{"finalizers": []any{"a/b", "a/b"}})},
		"a key twice": {live: owned(map[string]any{"f:data": map[string]any{}}), want: "the API server would refuse it",
			intent: with("metadata", map[string]any{"ownerReferences": []any{map[string]any{"uid": "a"}, map[string]any{"uid": "a"}}})},
		"a live item that lacks its key": {intent: ok(), want: "the live object does not fit its managed fields: .data: element 0",
			live: with("metadata", owned(map[string]any{"f:data": map[string]any{`k:{"port":80,"protocol":"TCP"}`: map[string]any{".": map[string]any{}}}})["metadata"],
				"data", []any{map[string]any{"port": int64(80)}})},
		"the same live": {live: with("metadata", owned(map[string]any{"f:data": map[string]any{}})["metadata"], "data", 3), intent: ok(), want: "live object: .data is a Go int"},
	} {
		t.Run(name, func(t *testing.T) {
			manager := strings.TrimPrefix("us"+test.manager, "us-")
			got, err := predict.Apply(test.live, test.intent, manager, test.sub)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want an error with %q", err, test.want)
			}
			if diff := cmp.Diff(predict.Prediction{}, got); diff != "" {
				t.Errorf("something was told beside the error: %s", diff)
			}
			if strings.Contains(fmt.Sprint(err), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
}

// TestDepth: values may be nested as deep as the paths of fieldowners, the object itself is a level.
func TestDepth(t *testing.T) {
	for name, nest := range map[string]func(any) any{
		"maps":  func(v any) any { return map[string]any{"a": v} },
		"lists": func(v any) any { return []any{v} },
	} {
		deep := any("x")
		for range fieldowners.MaxDepth - 1 {
			deep = nest(deep)
		}
		intent := map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": deep}
		if _, err := predict.Apply(nil, intent, "us", ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		intent["data"] = nest(deep)
		if _, err := predict.Apply(nil, intent, "us", ""); err == nil {
			t.Errorf("%s one level deeper are not refused", name)
		}
	}
}

func TestKeepsSecretsOutOfErrors(t *testing.T) {
	test := predicted{kind: "v1 Secret", live: `{data: {a: x}}`, owners: keeper, intent: `{metadata: {finalizers: [topsecret, topsecret]}}`}
	_, err := test.predict(t)
	if err == nil || strings.Contains(err.Error(), "topsecret") || !strings.Contains(err.Error(), "hidden") {
		t.Errorf("got %v", err)
	}
}

// FuzzApply: whatever the objects are, there is an error and nothing else, or a
// prediction that is the same each time, and never a panic.
func FuzzApply(f *testing.F) {
	for _, test := range predictions {
		f.Add(test.live, test.owners, test.intent, test.kind, test.sub)
	}
	f.Add(`{metadata: {managedFields: [null, 3, {}]}, a: [[null], {}, [1]]}`, keeper, `{a: [[1], {b: null}], metadata: null}`, "", "")
	f.Add(`{a: [1, 1, {b: c}]}`, `x/Update {"f:a":{"v:1":{},"k:{\"b\":\"c\"}":{}}}`, `{a: [1, {b: c}]}`, "v1 Secret", "status")
	f.Add(`{a: {b: [{k: 1}]}}`, `us/Apply {"f:a":{".":{},"f:b":{"f:c":{},"k:{\"k\":1}":{"f:d":{}}}}}`, `{a: [{b: 1}]}`, "", "")
	f.Fuzz(func(t *testing.T, live, owners, intent, kind, sub string) {
		test := predicted{kind: kind, live: live, owners: owners, intent: intent, sub: sub}
		if _, err := test.wrap(intent); err != nil {
			t.Skip()
		}
		if _, err := test.wrap(live); err != nil {
			t.Skip()
		}
		if list, err := test.entries("v1"); err != nil || list == nil {
			t.Skip()
		}
		first, err := test.predict(t)
		second, _ := test.predict(t)
		if first.String() != second.String() {
			t.Errorf("two predictions of one thing:\n%v\n%v", first, second)
		}
		if err != nil && (!first.IsEmpty() || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%q, and %v", err, first)
		}
	})
}
