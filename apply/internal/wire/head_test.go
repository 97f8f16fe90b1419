package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func TestObjectHead(t *testing.T) {
	both := Identity{"0000-1", "7"}
	for text, want := range map[string]Identity{
		`{"kind":"A","metadata":{"name":"a","uid":"0000-1","resourceVersion":"7","generation":1},"spec":{}}`:          both,
		`{"kind":"A","metadata":{"labels":{"uid":"no"},"name":"a","resourceVersion":"7","uid":"0000-1"},"spec":[{}]}`: both,
		`{"spec":{"metadata":{"uid":"no"}},"status":[1,null],"metadata":{"uid":"0000-1","resourceVersion":"7"}}`:      both,
		`{"metadata":{"uid":null,"managedFields":[{"uid":"no"}],"resourceVersion":"7"}}`:                              {"", "7"},
		`{"metadata":{}}`:       {},
		`{"spec":{"uid":"no"}}`: {},
		`{}`:                    {},
		`{"metadata":null}`:     {},
	} {
		if got, err := objectOf(t, text).Head(); err != nil || got.Identity != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{`{"metadata":[]}`, `{"metadata":{"uid":7}}`, `{"metadata":{"uid":"0000-1","resourceVersion":{}}}`} {
		if got, err := objectOf(t, text).Head(); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestObjectPart(t *testing.T) {
	const answer = `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","uid":"0000-1","labels":{"a":"b"},"annotations":{"a":"b"}},"spec":{"a":1,"b":2},"status":{}}`
	for content, want := range map[string]string{
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"a":2}}`:                     `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"},"spec":{"a":1,"b":2}}`,
		`{"apiVersion":"v1","kind":"A","metadata":{"name":"a","labels":{"c":"d"},"finalizers":[]}}`: `{"apiVersion":"v1","kind":"A","metadata":{"name":"a","labels":{"a":"b"}}}`,
		`{"data":{}}`: `{}`,
	} {
		var of, wanted map[string]any
		for text, into := range map[string]*map[string]any{content: &of, want: &wanted} {
			if err := utiljson.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(wanted, objectOf(t, answer).Part(of)); diff != "" {
			t.Errorf("%s: -want +got\n%s", content, diff)
		}
	}
}

func objectOf(t *testing.T, text string) (object Object) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}
