package fieldowners_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"coapply.dev/fieldowners"
)

// named says how the lists of the tests name their items.
const named = `{"f:items":{"k:{\"name\":\"a\"}":{".":{},"f:ports":{"k:{\"p\":1,\"q\":\"T\"}":{".":{}}}}},"f:set":{"v:\"x\"":{}},"f:list":{"i:0":{}}}`

func object(t testing.TB, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v map[string]any
	if err := utiljson.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestChanges(t *testing.T) {
	for _, test := range []struct {
		reason, before, after string
		want                  string // lines
	}{
		{"equal", `{"a":{"b":[1,{}]}}`, `{"a":{"b":[1,{}]}}`, ""},
		{"one number", `{"a":1}`, `{"a":1.0}`, ""},
		{"neither exists", "", "", ""},
		{"created", "", `{"a":{"b":1},"c":"x"}`, `.a.b: added 1|.c: added "x"`},
		{"deleted", `{"a":{"b":1}}`, "", ".a.b: removed 1"},
		{"changed, in the order of paths", `{"b":{"x.y":1},"a":true}`, `{"b":{"x.y":2},"a":false}`, `.a: true -> false|.b["x.y"]: 1 -> 2`},
		{"null is a value", `{}`, `{"a":null}`, ".a: added null"},
		{"null became a map", `{"a":null}`, `{"a":{"b":1}}`, `.a: null -> {"b":1}`},
		{"a map with nothing in it", `{}`, `{"a":{}}`, ".a: added {}"},
		{"the last field of a map", `{"a":{"b":1}}`, `{"a":{}}`, ".a.b: removed 1"},
		{"another type", `{"a":{"b":1}}`, `{"a":"x"}`, `.a: {"b":1} -> "x"`},
		{"a list of which nothing is known", `{"l":[{"name":"a","v":1}]}`, `{"l":[{"name":"a","v":2}]}`,
			`.l: [{"name":"a","v":1}] -> [{"name":"a","v":2}]`},
		{"an item by key", `{"items":[{"name":"a","v":1},{"name":"b","v":1}]}`, `{"items":[{"name":"b","v":1},{"name":"c"}]}`,
			`.items[name="a"].name: removed "a"|.items[name="a"].v: removed 1|.items[name="c"].name: added "c"`},
		{"an item before others", `{"items":[{"name":"b","v":1}]}`, `{"items":[{"name":"a"},{"name":"b","v":2}]}`,
			`.items[name="a"].name: added "a"|.items[name="b"].v: 1 -> 2`},
		{"the first item of a list", `{}`, `{"items":[{"name":"a"}]}`, `.items[name="a"].name: added "a"`},
		{"a list below another item than the one known", `{"items":[{"name":"b","ports":[{"p":1,"q":"T","v":1}]}]}`,
			`{"items":[{"name":"b","ports":[{"p":1,"q":"T","v":2}]}]}`, `.items[name="b"].ports[p=1,q="T"].v: 1 -> 2`},
		{"items changed places", `{"items":[{"name":"a"},{"name":"b"}]}`, `{"items":[{"name":"b"},{"name":"a"}]}`,
			`.items: [{"name":"a"},{"name":"b"}] -> [{"name":"b"},{"name":"a"}]`},
		{"an item without its key", `{"items":[{"name":"a"}]}`, `{"items":[{"v":1}]}`, `.items: [{"name":"a"}] -> [{"v":1}]`},
		{"an item that is no map", `{"items":[{"name":"a"}]}`, `{"items":[null]}`, `.items: [{"name":"a"}] -> [null]`},
		{"one key twice", `{"items":[{"name":"a"}]}`, `{"items":[{"name":"a"},{"name":"a"}]}`, `.items: [{"name":"a"}] -> [{"name":"a"},{"name":"a"}]`},
		{"a set", `{"set":["x","y"]}`, `{"set":["z","y"]}`, `.set[="x"]: removed "x"|.set[="z"]: added "z"`},
		{"no set after all", `{"set":["x"]}`, `{"set":[["x"]]}`, `.set: ["x"] -> [["x"]]`},
		{"emptied", `{"set":["x"]}`, `{"set":[]}`, `.set[="x"]: removed "x"`},
		{"a text became a list", `{"set":"x"}`, `{"set":["x"]}`, `.set: "x" -> ["x"]`},
		{"a list became a text", `{"set":["x"]}`, `{"set":"x"}`, `.set: ["x"] -> "x"`},
		{"a list whose items have indexes", `{"list":["x","y"]}`, `{"list":["x","z"]}`, `.list: ["x","y"] -> ["x","z"]`},
		{"a list of scalars of which nothing is known", `{"l":["x","y"]}`, `{"l":["x","z"]}`, `.l: ["x","y"] -> ["x","z"]`},
		{"a list named as one in an item is", `{"ports":[{"p":1,"q":"T","v":1}]}`, `{"ports":[{"p":1,"q":"T","v":2}]}`,
			`.ports: [{"p":1,"q":"T","v":1}] -> [{"p":1,"q":"T","v":2}]`},
		{"an empty list", `{"set":["x"]}`, `{}`, `.set[="x"]: removed "x"`},
	} {
		got := lines(fieldowners.Changes(object(t, test.before), object(t, test.after), ownership(t, entry("m", "Apply", named))))
		if diff := cmp.Diff(test.want, strings.Join(got, "|")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.reason, diff)
		}
	}
}

func TestChangesWhereOwnershipsDisagree(t *testing.T) {
	other := ownership(t, entry("n", "Apply", `{"f:items":{"k:{\"id\":1}":{}}}`))
	before, after := object(t, `{"items":[{"name":"a","id":1}]}`), object(t, `{"items":[{"name":"a","id":2}]}`)
	ours := ownership(t, entry("m", "Apply", named))
	for _, ownerships := range [][]fieldowners.Ownership{{ours, other}, {ours, other, other}, {other, ours, ours}} {
		got := lines(fieldowners.Changes(before, after, ownerships...))
		if want := []string{`.items: [{"id":1,"name":"a"}] -> [{"id":2,"name":"a"}]`}; !cmp.Equal(got, want) {
			t.Errorf("got %v, want the list as a whole", got)
		}
	}
}

func TestChangeShortensLongValues(t *testing.T) {
	long := strings.Repeat("ж", 200)
	text := fieldowners.Change{Path: fieldowners.MustParsePath(".a"), After: long, Exists: true}.String()
	if want := `.a: added "` + strings.Repeat("ж", 79) + "…"; text != want {
		t.Errorf("got %s", text)
	}
}

func lines(changes []fieldowners.Change) (all []string) {
	for _, c := range changes {
		all = append(all, c.String())
	}
	return all
}

// checkChanges holds what is promised of any two objects.
func checkChanges(t *testing.T, before, after any, o fieldowners.Ownership) {
	t.Helper()
	changes := fieldowners.Changes(before, after, o)
	if (len(changes) == 0) != sameJSON(t, before, after) {
		t.Fatalf("%v\n%v\nhave %d changes", before, after, len(changes))
	}
	for i, c := range changes {
		if c.Existed == c.Exists && sameJSON(t, c.Before, c.After) || !c.Existed && !c.Exists {
			t.Fatalf("%v does not differ", c)
		}
		if i > 0 && changes[i-1].Path.Compare(c.Path) >= 0 {
			t.Fatalf("%v, then %v", changes[i-1], c)
		}
		for _, side := range []struct {
			object, value any
			has           bool
		}{{before, c.Before, c.Existed}, {after, c.After, c.Exists}} {
			found, has := c.Path.Value(side.object)
			if c.Path.IsRoot() {
				has = side.object != nil
			}
			if has != side.has || has && !sameJSON(t, found, side.value) {
				t.Fatalf("%v: the object has %v (%v)", c, found, has)
			}
		}
	}
}

func sameJSON(t *testing.T, a, b any) bool {
	t.Helper()
	var x, y any
	for v, into := range map[*any]*any{&a: &x, &b: &y} {
		raw, err := json.Marshal(*v)
		if err != nil {
			t.Fatal(err)
		}
		if err := utiljson.Unmarshal(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	return reflect.DeepEqual(x, y)
}

func TestChangesOfRandomObjects(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	known := ownership(t, entry("m", "Apply", named))
	for range 5000 {
		checkChanges(t, randomObject(random), randomObject(random), known)
	}
}

// randomObject has maps, and lists by key, by value and of neither kind.
func randomObject(random *rand.Rand) map[string]any {
	o := map[string]any{}
	for _, name := range []string{"a", "b.c", "items", "set", "list"} {
		switch {
		case random.IntN(3) == 0:
		case name == "items":
			items := []any{}
			for _, key := range random.Perm(3)[:random.IntN(4)] {
				items = append(items, map[string]any{"name": string(rune('a' + key)), "v": random.Int64N(2), "m": randomMap(random)})
			}
			o[name] = items
		case name == "set" || name == "list":
			items := []any{}
			for range random.IntN(3) {
				items = append(items, string(rune('x'+random.IntN(3))))
			}
			o[name] = items
		default:
			o[name] = randomMap(random)
		}
	}
	return o
}

func randomMap(random *rand.Rand) any {
	return []any{nil, map[string]any{}, map[string]any{"x": random.Int64N(2)}, "s", int64(1)}[random.IntN(5)]
}

func FuzzChanges(f *testing.F) {
	f.Add(`{"items":[{"name":"a","v":1}]}`, `{"items":[{"name":"b","ports":[{"p":1,"q":"T"}]}]}`, named)
	f.Add(`{"set":["x","y"]}`, `{"set":["y","x",1,1.0]}`, `{"f:set":{"v:1":{}}}`)
	f.Add(`{"a":{"b":null}}`, `{"a":[[]]}`, `{"f:a":{"i:0":{}}}`)
	f.Fuzz(func(t *testing.T, before, after, fields string) {
		var x, y map[string]any
		if utiljson.Unmarshal([]byte(before), &x) != nil || utiljson.Unmarshal([]byte(after), &y) != nil {
			return
		}
		if known, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry("m", "Apply", fields)}); err == nil {
			checkChanges(t, any(x), any(y), known)
		}
	})
}
