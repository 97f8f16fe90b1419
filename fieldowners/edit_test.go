package fieldowners_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/fieldowners"
)

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := utiljson.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func encode(t *testing.T, object any) string {
	t.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestCut(t *testing.T) {
	for _, c := range []struct{ reason, object, path, want string }{
		{"a field beside others", `{"spec":{"a":1,"b":2}}`, `.spec.a`, `{"spec":{"b":2}}`},
		{"parents that become empty go", `{"kind":"K","spec":{"x":{"a":1}}}`, `.spec.x.a`, `{"kind":"K"}`},
		{"parents that were empty before stay", `{"spec":{"a":1,"x":{}}}`, `.spec.a`, `{"spec":{"x":{}}}`},
		{"a map key with dots", `{"data":{"a.b/c":"1","é":"2"}}`, `.data["a.b/c"]`, `{"data":{"é":"2"}}`},
		{"a field of a list item", `{"l":[{"name":"a","v":1,"w":2},{"name":"b"}]}`, `.l[name="a"].v`, `{"l":[{"name":"a","w":2},{"name":"b"}]}`},
		{"an item of which the key is left", `{"l":[{"name":"a","v":1},{"name":"b"}]}`, `.l[name="a"].v`, `{"l":[{"name":"b"}]}`},
		{
			"an item of which one of two keys was left to be defaulted",
			`{"x":1,"l":[{"port":80,"v":{"w":1}}]}`, `.l[port=80,protocol="TCP"].v.w`, `{"x":1}`,
		},
		{"two equal items of an atomic list", `{"l":[{"a":1},{"a":1}]}`, `.l[1]`, `{"l":[{"a":1}]}`},
		{"a member of a set", `{"l":["a","b"]}`, `.l[="a"]`, `{"l":["b"]}`},
		{"another member of a set", `{"l":["a","b"]}`, `.l[="b"]`, `{"l":["a"]}`},
		{"another item by its key", `{"l":[{"name":"a"},{"name":"b"}]}`, `.l[name="b"]`, `{"l":[{"name":"a"}]}`},
		{"an item by its key behind what is no item", `{"l":["x",{"name":"b"}]}`, `.l[name="b"]`, `{"l":["x"]}`},
		{"a member of a set behind what is none", `{"l":[{"name":"a"},"b"]}`, `.l[="b"]`, `{"l":[{"name":"a"}]}`},
		{"the last member of a set", `{"l":["a"]}`, `.l[="a"]`, `{}`},
		{"a whole list", `{"a":1,"l":["a"]}`, `.l`, `{"a":1}`},
		{"null is a value", `{"a":null,"b":1}`, `.a`, `{"b":1}`},
	} {
		object := decode(t, c.object)
		if !fieldowners.MustParsePath(c.path).Cut(object, nil) {
			t.Errorf("%s: not found", c.reason)
		}
		if diff := cmp.Diff(decode(t, c.want), object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
	object := decode(t, `{"a":{"b":1}}`)
	for _, path := range []string{"", ".b", ".a.c", ".a.b.c", ".a[0]"} {
		if fieldowners.MustParsePath(path).Cut(object, nil) || encode(t, object) != `{"a":{"b":1}}` {
			t.Errorf("%q was cut, or something else was: %v", path, object)
		}
	}
}

func TestCutKeeps(t *testing.T) {
	for _, c := range []struct{ reason, object, keep, want string }{
		{"a list item with its key", `{"l":[{"name":"a","v":{"w":1}}]}`, `.l[name="a"]`, `{"l":[{"name":"a"}]}`},
		{"an empty map", `{"l":[{"name":"a","v":{"w":1}}]}`, `.l[name="a"].v`, `{"l":[{"name":"a","v":{}}]}`},
		{"nothing", `{"l":[{"name":"a","v":{"w":1}}]}`, ``, `{}`},
	} {
		object := decode(t, c.object)
		keep := func(parent fieldowners.Path) bool { return parent.String() == c.keep }
		fieldowners.MustParsePath(`.l[name="a"].v.w`).Cut(object, keep)
		if diff := cmp.Diff(decode(t, c.want), object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ reason, object, path, want string }{
		{"a field", `{"spec":{"a":1,"b":2}}`, `.spec.a`, `{"spec":{"a":{"new":[1]},"b":2}}`},
		{"a field of a list item", `{"l":[{"name":"a","v":1}]}`, `.l[name="a"].v`, `{"l":[{"name":"a","v":{"new":[1]}}]}`},
		{"an item by index", `{"l":[1,1]}`, `.l[1]`, `{"l":[1,{"new":[1]}]}`},
	} {
		object, value := decode(t, c.object), decode(t, `{"new":[1]}`)
		if !fieldowners.MustParsePath(c.path).Set(object, value) {
			t.Errorf("%s: not found", c.reason)
		}
		value["new"].([]any)[0] = "changed" // what was set is a copy
		if diff := cmp.Diff(decode(t, c.want), object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
	object := decode(t, `{"a":1}`)
	if fieldowners.MustParsePath(".b").Set(object, "x") || fieldowners.MustParsePath("").Set(object, "x") || encode(t, object) != `{"a":1}` {
		t.Errorf("a field was added: %v", object)
	}
}

func TestNearest(t *testing.T) {
	object := decode(t, `{"a":{"b":{"c":1},"s":"text","n":null,"e":{}}}`)
	for _, c := range []struct{ reason, path, want string }{
		{"the field itself", ".a.b.c", ".a.b.c"},
		{"a scalar stands where the path goes on", ".a.s.x.y", ".a.s"},
		{"so does null", ".a.n.x", ".a.n"},
		{"a map without the field sets nothing", ".a.e.x", ""},
		{"nor does one that holds others", ".a.b.x", ""},
		{"nor the root", ".x", ""},
	} {
		got, ok := fieldowners.MustParsePath(c.path).Nearest(object)
		if got.String() != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q %v, want %q", c.reason, got, ok, c.want)
		}
	}
	if got, ok := fieldowners.MustParsePath(".x").Nearest(nil); ok {
		t.Errorf("what does not exist sets %q", got)
	}
}

func TestLocate(t *testing.T) {
	object := decode(t, `{
		"metadata": {"labels": {"a.b": "1", "a.b/c[0]": "2", "é": "3", "a": "4"}},
		"amb": {"a.b": 1, "a": {"b": 1}},
		"l": [{"name": "x", "ports": [{"port": 80, "v": 1}]}, {"name": "q\"", "v": 1}],
		"set": ["m", "n"], "atomic": [1, 2]}`)
	for _, c := range []struct {
		reason, serverPath string
		want               []string
	}{
		{"a key with a dot", ".metadata.labels.a.b", []string{`.metadata.labels["a.b"]`}},
		{"a key with a bracket", ".metadata.labels.a.b/c[0]", []string{`.metadata.labels["a.b/c[0]"]`}},
		{"a key that is not ASCII", ".metadata.labels.é", []string{`.metadata.labels["é"]`}},
		{"two fields of one name", ".amb.a.b", []string{".amb.a.b", `.amb["a.b"]`}},
		{"by one key, then by two of which one is left out", `.l[name="x"].ports[port=80,protocol="TCP"].v`, []string{`.l[name="x"].ports[port=80,protocol="TCP"].v`}},
		{"a quote in a key", `.l[name="q\""].v`, []string{`.l[name="q\""].v`}},
		{"a member of a set", `.set[="n"]`, []string{`.set[="n"]`}},
		{"an index", ".atomic[1]", []string{".atomic[1]"}},
		{"absent", ".metadata.labels.a.c", nil},
		{"a field of the same name deeper", ".b", nil},
		{"a name that begins as one does", ".se", nil},
		{"an item, absent", `.l[name="y"]`, nil},
		{"absent item", `.l[name="y"].v`, nil},
		{"no such server path", ".l[", nil},
		{"a bracket that names a key", `.set["n"]`, nil},
	} {
		var got []string
		for _, path := range fieldowners.Locate(object, c.serverPath) {
			got = append(got, path.String())
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
}
