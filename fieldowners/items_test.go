package fieldowners

import "testing"

func TestNamedList(t *testing.T) {
	type list = []any
	type item = map[string]any
	for _, test := range []struct {
		reason  string
		element string // of some item of the list
		items   list
		want    string // "" is not to be named
	}{
		{"by a key", `[name="x"]`, list{item{"name": "a"}, item{"name": "b"}}, `[name="a"][name="b"]`},
		{"by a key of two fields", `[port=1,protocol="TCP"]`, list{item{"port": int64(80), "protocol": "UDP"}}, `[port=80,protocol="UDP"]`},
		{"a field of the key is left out", `[port=1,protocol="TCP"]`, list{item{"port": int64(80)}}, ""},
		{"two of one name", `[name="x"]`, list{item{"name": "a"}, item{"name": "a"}}, ""},
		{"members of a set", `[="x"]`, list{"a", int64(1)}, `[="a"][=1]`},
		{"a member that is no scalar", `[="x"]`, list{list{}}, ""},
		{"no object", `[name="x"]`, list{"a"}, ""},
	} {
		path, err := ParsePath(test.element)
		if err != nil {
			t.Fatal(err)
		}
		how, ok := namingOf(path.elements[0])
		if !ok {
			t.Errorf("%s: %s names no item", test.reason, test.element)
		}
		named, got := how.list(test.items), ""
		for _, name := range named.names {
			got += textOf(name)
		}
		if distinct := named.isDistinct(); distinct != (test.want != "") || distinct && got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.reason, got, distinct, test.want)
		}
		how.disputed = true
		if how.list(test.items).isDistinct() {
			t.Errorf("%s: named although ownerships disagree", test.reason)
		}
	}
	for _, text := range []string{".spec", "[3]"} {
		path, _ := ParsePath(text)
		if how, ok := namingOf(path.elements[0]); ok {
			t.Errorf("%s names an item by %v", text, how)
		}
	}
}
