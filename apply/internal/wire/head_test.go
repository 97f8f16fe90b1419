package wire

import "testing"

func TestReadHead(t *testing.T) {
	both := Identity{"0000-1", "7"}
	for object, want := range map[string]Identity{
		`{"kind":"A","metadata":{"name":"a","uid":"0000-1","resourceVersion":"7","generation":1},"spec":{}}`:          both,
		`{"kind":"A","metadata":{"labels":{"uid":"no"},"name":"a","resourceVersion":"7","uid":"0000-1"},"spec":[{}]}`: both,
		`{"spec":{"metadata":{"uid":"no"}},"status":[1,null],"metadata":{"uid":"0000-1","resourceVersion":"7"}}`:      both,
		`{"metadata":{"uid":null,"managedFields":[{"uid":"no"}],"resourceVersion":"7"}}`:                              {"", "7"},
		`{"metadata":{}}`:   {},
		`{"metadata":null}`: {},
		`{"metadata": {"uid":"0000-1", "resourceVersion":"7"}, and what comes then is not read`: both,
	} {
		if got, err := ReadHead([]byte(object)); err != nil || got.Identity != want {
			t.Errorf("%s: %v, %v", object, got, err)
		}
	}
	for _, object := range []string{
		"", "null", "7", "[]", "{}", `{"spec":{"uid":"no"}}`, `"metadata"`, "k8s\x00\n", "{", "{7:1}", `{"metadata"`, `{"metadata":`, `{"metadata":[]}`,
		`{"metadata":{"uid":7}}`, `{"metadata":{"uid":"0000-1"`, `{"metadata":{"uid":"0000-1","resourceVersion":{}}}`, `{"spec":{]}`, `{"spec":{}`,
	} {
		if got, err := ReadHead([]byte(object)); err == nil {
			t.Errorf("%s: %v", object, got)
		}
	}
}
