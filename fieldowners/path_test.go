package fieldowners_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"coapply.dev/fieldowners"
)

func TestParsePathRoundTrip(t *testing.T) {
	for _, text := range []string{
		"",
		".spec.replicas",
		`.spec.template.spec.containers[name="web"].image`,
		`.spec.ports[containerPort=80,protocol="TCP"]`,
		`.metadata.annotations["a.b/c"]`,
		`.metadata.annotations["quote\"d"]`,
		`.metadata.labels["ключ"]`,
		`.metadata.finalizers[="a.b/c"]`,
		`.spec.args[3]`,
		`.spec.flags[=true]`,
		`.spec.list["odd key"=1]`,
		`.spec.values[=null]`,
		`.data["<&>"]`,
		`.data["0"]`,
		".data.aZ_0-$",
		".data[=1e+21]",
	} {
		path, err := fieldowners.ParsePath(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := path.String(); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

func TestKeyFieldsAreSorted(t *testing.T) {
	if got := fieldowners.MustParsePath(`.a[b=1,a=2]`).String(); got != `.a[a=2,b=1]` {
		t.Errorf("key fields are in the order %s", got)
	}
}

func TestIsKeyField(t *testing.T) {
	for text, want := range map[string]bool{
		`[name="a"].name`: true, `.l[name="a"].name`: true, `.l[name="a"].image`: false, `.l[name="a"]`: false, `.l[name="a"][name="b"]`: false,
		".name": false, "": false, ".a.name": false,
	} {
		if got := fieldowners.MustParsePath(text).IsKeyField(); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// TestMalformedText: whoever reads a path as JSON, or writes one in code, hears of it.
func TestMalformedText(t *testing.T) {
	var path fieldowners.Path
	if err := path.UnmarshalText([]byte("spec")); !errors.As(err, new(*fieldowners.PathError)) {
		t.Errorf("%v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	fieldowners.MustParsePath("spec")
}

func TestParsePathErrors(t *testing.T) {
	for _, test := range []struct {
		text   string
		offset int
		reason string
		want   string
	}{
		{"spec", 0, "no leading dot", `"." or "[" is expected`},
		{".", 1, "no name", "a name is expected"},
		{".a..b", 3, "an empty name", "a name is expected"},
		{".a.b/c", 3, "a character that needs quotes", "a name is expected"},
		{".a[", 3, "nothing in the bracket", "a name is expected"},
		{".a[name]", 7, "a key field without a value", `"=" is expected after the name of a key field`},
		{`.a[name="x"`, 11, "no closing bracket", `"]" is expected`},
		{`.a[3`, 4, "no closing bracket behind an index", `"]" is expected`},
		{`.a[name="x",="y"]`, 12, "a second key field without a name", "a name is expected"},
		{`.a[name="x",b c="y"]`, 12, "a second key field whose name needs quotes", "a name is expected"},
		{`.a[name={}]`, 10, "a key field's value is a scalar", "a string, number, boolean or null is expected"},
		{`.a[=["x"]]`, 9, "a value is a scalar", "a string, number, boolean or null is expected"},
		{`.a[=1e999]`, 9, "a number that is none", "value out of range"},
		{".a[=\n1]", 4, "white space", "white space is not allowed here"},
		{`.a[=]`, 4, "no value", "a JSON string, number, boolean or null is expected"},
		{`.a[99999999999999999999]`, 3, "an index out of range", "or is too large"},
		{`.a["b]`, 3, "an open string", "a JSON string"},
	} {
		_, err := fieldowners.ParsePath(test.text)
		var pathErr *fieldowners.PathError
		if !errors.As(err, &pathErr) {
			t.Errorf("%s (%s): got %v, want a PathError", test.text, test.reason, err)
			continue
		}
		if pathErr.Offset != test.offset {
			t.Errorf("%s (%s): offset %d, want %d: %v", test.text, test.reason, pathErr.Offset, test.offset, err)
		}
		if !strings.Contains(pathErr.Reason, test.want) {
			t.Errorf("%s (%s): %q, want %q", test.text, test.reason, pathErr.Reason, test.want)
		}
	}
}

func TestPathValue(t *testing.T) {
	object := map[string]any{
		"metadata": map[string]any{
			"annotations": map[string]any{"a.b/c": "x"},
			"finalizers":  []any{"one", "two"},
		},
		"spec": map[string]any{
			"ports": []any{
				map[string]any{"containerPort": int64(80), "protocol": "UDP", "name": "u"},
				map[string]any{"containerPort": int64(80), "name": "defaulted"},
			},
			"args": []any{"a", "b"},
			"odd":  []any{map[string]any{"x": "a"}},
		},
	}
	for _, test := range []struct {
		path   string
		want   any
		absent bool
	}{
		{path: `.metadata.annotations["a.b/c"]`, want: "x"},
		{path: `.metadata.finalizers[="two"]`, want: "two"},
		{path: `.metadata.finalizers[="three"]`, absent: true},
		{path: `.spec.ports[containerPort=80,protocol="UDP"].name`, want: "u"},
		{path: `.spec.ports[containerPort=80,protocol="TCP"].name`, want: "defaulted"},
		{path: `.spec.ports[containerPort=81,protocol="TCP"].name`, absent: true},
		{path: `.spec.args[0]`, want: "a"},
		{path: `.spec.args[1]`, want: "b"},
		{path: `.spec.ports[containerPort=81,protocol="TCP"]`, absent: true},
		{path: `.spec.args[name="a"]`, absent: true},
		{path: `.spec.odd[name="a"]`, absent: true},
		{path: `.metadata.labels`, absent: true},
		{path: `.metadata.annotations["a.b/c"].x`, absent: true},
		{path: `.spec.args[2]`, absent: true},
		{path: `.spec.args.x`, absent: true},
		{path: `.spec[0]`, absent: true},
	} {
		got, ok := fieldowners.MustParsePath(test.path).Value(object)
		if ok == test.absent {
			t.Errorf("%s: found is %t", test.path, ok)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.path, diff)
		}
	}
}

func TestHasPrefix(t *testing.T) {
	path := fieldowners.MustParsePath(`.spec.containers[name="web"].image`)
	for text, want := range map[string]bool{
		"":                                     true,
		".spec":                                true,
		`.spec.containers[name="web"]`:         true,
		`.spec.containers[name="web"].image`:   true,
		`.spec.containers[name="we"]`:          false,
		".spe":                                 false,
		`.spec.containers[name="web"].image.x`: false,
	} {
		if got := path.HasPrefix(fieldowners.MustParsePath(text)); got != want {
			t.Errorf("%q: got %t", text, got)
		}
	}
}

func FuzzParsePath(f *testing.F) {
	f.Add(`.spec.ports[containerPort=80,protocol="TCP"].name`)
	f.Add(`.metadata.annotations["a.b/c"][="v"][3]`)
	f.Fuzz(func(t *testing.T, text string) {
		path, err := fieldowners.ParsePath(text)
		if err != nil {
			return
		}
		again, err := fieldowners.ParsePath(path.String())
		if err != nil {
			t.Fatalf("%q gives %q, which does not parse: %v", text, path, err)
		}
		if !path.Equal(again) {
			t.Fatalf("%q gives %q gives %q", text, path, again)
		}
	})
}

func TestParsePaths(t *testing.T) {
	paths, err := fieldowners.ParsePaths([]string{".spec", `.metadata.labels["a"]`})
	if err != nil || len(paths) != 2 || paths[1].String() != ".metadata.labels.a" && paths[1].String() != `.metadata.labels["a"]` {
		t.Errorf("%v %v", paths, err)
	}
	for want, texts := range map[string][]string{
		"a path is empty":           {".spec", ""},
		"path .spec is named twice": {".spec", ".spec"},
		`path "spec": at offset 0`:  {"spec"},
	} {
		if _, err := fieldowners.ParsePaths(texts); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", texts, err, want)
		}
	}
}
