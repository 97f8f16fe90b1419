package update

import (
	"reflect"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestOrigins: which item each one was, as JSON.
func TestOrigins(t *testing.T) {
	for _, test := range []struct {
		reason, before, after string
		want                  []int
	}{
		{"as they stand", `["x","y"]`, `["x","y"]`, []int{0, 1}},
		{"an equal one in its place comes first", `["x","y","x"]`, `["z","y","x"]`, []int{-1, 1, 2}},
		{"and stays", `["x","x"]`, `["x"]`, []int{0}},
		{"equal ones that moved, in their order", `["a","x","x"]`, `["x","a","b","x"]`, []int{1, 0, -1, 2}},
		{"one is one only", `["x"]`, `["x","x"]`, []int{0, -1}},
		{"an equal one before one that is alike", `[{"name":"a","v":1},{"name":"a","v":2},{"name":"b"}]`,
			`[{"name":"b"},{"name":"a","v":2,"w":1},{"name":"a","v":2}]`, []int{2, 0, 1}},
		{"by key, however much was changed", `[{"name":"a","v":1,"w":2,"x":3}]`, `[{"name":"a","v":4,"w":5,"x":6}]`, []int{0}},
		{"what was found is not looked for again", `[{"name":"a","v":1},{"name":"a","v":2}]`, `[{"name":"a","v":1}]`, []int{0}},
		{"nor given again", `[{"name":"a","v":1}]`, `[{"name":"a","v":1},{"name":"a","v":2}]`, []int{0, -1}},
		{"of one key: the one with most in common", `[{"name":"a","v":1},{"name":"a","v":2,"w":2},{"name":"a","v":3}]`,
			`[{"name":"a","v":2,"w":2,"x":1}]`, []int{1}},
		{"and not a nearer one", `[{"name":"a","v":1},{"name":"a","v":2,"w":2},{"name":"a","v":3}]`,
			`["q","r",{"name":"a","v":2,"w":2,"x":1}]`, []int{-1, -1, 1}},
		{"then the nearest, which is before", `[{"name":"a","v":1},{"name":"a","v":2},{"name":"a","v":3}]`, `[{"name":"a","v":9}]`, []int{0}},
		{"or behind", `[{"name":"a","v":1},{"name":"a","v":2},{"name":"a","v":3}]`, `["q","r",{"name":"a","v":9}]`, []int{-1, -1, 2}},
		{"a key that only the new one has is none", `[{"type":"T","v":1,"w":2,"x":3}]`, `[{"name":"n","type":"T","v":4,"w":5,"x":6}]`, []int{0}},
		{"nor is one that only the old one has", `[{"name":"n","type":"T","v":1,"w":2,"x":3}]`, `[{"type":"T","v":4,"w":5,"x":6}]`, []int{0}},
		{"without keys: more than half in common", `[{"v":1,"w":2,"x":3}]`, `[{"v":1,"w":2,"x":4}]`, []int{0}},
		{"half is not enough", `[{"v":1,"w":2}]`, `[{"v":1,"w":3}]`, []int{-1}},
		{"of lists: more than half", `[["a","b","c"]]`, `[["a","b","z"]]`, []int{0}},
		{"half of a list is not enough", `[["a","b"]]`, `[["a","z"]]`, []int{-1}},
		{"a map and a list have nothing in common", `[{"v":1},["a"]]`, `[["z"],{"w":2}]`, []int{-1, -1}},
	} {
		before, after := parsed(t, test.before).([]any), parsed(t, test.after).([]any)
		if got := origins(before, after); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.reason, got, test.want)
		}
	}
}

func TestAlikeAs(t *testing.T) {
	quantities := goType{reflect.TypeFor[map[string][]resource.Quantity]()}
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{`{"x":["1k"]}`, `{"x":["1e3"]}`, true},
		{`{"x":["1k"]}`, `{"x":["2k"]}`, false},
		{`{"x":["1k"]}`, `{"x":["1e3","1"]}`, false},
		{`{"x":["no quantity"]}`, `{"x":["0"]}`, false},
		{`{"x":["0"]}`, `{"x":["no quantity"]}`, false},
		{`{"x":[0]}`, `{"x":["0"]}`, false},
		{`{"x":["0"]}`, `{"x":[0]}`, false},
		{`{}`, `{"x":null}`, false},
		{`{"x":null}`, `{"y":null}`, false},
		{`{}`, `"x"`, false},
		{`{"x":[]}`, `{"x":"y"}`, false},
	} {
		if got := alikeAs(parsed(t, test.a), parsed(t, test.b), quantities); got != test.want {
			t.Errorf("%s and %s: %v", test.a, test.b, got)
		}
	}
}
