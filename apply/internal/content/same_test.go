package content

import (
	"encoding/json"
	"testing"
)

func TestSameMeaning(t *testing.T) {
	type m = map[string]any
	type l = []any
	for _, test := range []struct {
		reason       string
		wanted, live any
		same         bool
	}{
		{"a value", "a", "a", true},
		{"another value", "a", "b", false},
		{"another spelling of a quantity", "1000m", "1", true},
		{"another quantity", "1000m", "2", false},
		{"a number that the server decodes otherwise", int64(1), 1.0, true},
		{"another number", int64(1), int64(2), false},
		{"a quantity that is written as a number", int64(80), "80", true},
		{"and is kept in another unit", 1e9, "1G", true},
		{"another quantity than the number", int64(80), "81", false},
		{"a text that is none", int64(80), "http", false},
		{"null, which the server drops", nil, m{"a": "b"}, true},
		{"defaults beside it, in an item of an atomic list", l{m{"key": "a"}}, l{m{"key": "a", "operator": "Exists"}}, true},
		{"another value in an item", l{m{"key": "a"}}, l{m{"key": "b"}}, false},
		{"an item that admission added", l{"a"}, l{"a", "b"}, true},
		{"an item less", l{"a", "b"}, l{"a"}, false},
		{"zero, and left out", m{"a": false, "b": "x"}, m{"b": "x"}, true},
		{"not zero, and left out", m{"a": true}, m{}, false},
		{"another shape", m{"a": "b"}, "a", false},
		{"another shape than a list's", l{"a"}, m{"0": "a"}, false},
		{"another shape than a text's", "1", int64(1), false},
		{"empty in any way, and left out", m{"a": l{}, "b": m{}, "c": "", "d": int64(0), "e": nil}, m{}, true},
		{"a list, and left out", m{"a": l{"b"}}, m{}, false},
		{"a map, and left out", m{"a": m{"b": "c"}}, m{}, false},
		{"a truth", true, true, true},
		{"the other truth", true, false, false},
		{"a truth as text", true, "true", false},
		{"a truth for a number", int64(1), true, false},
		{"a number that was not decoded", 1.5, json.Number("1.5"), true},
		{"another one", int64(2), json.Number("1.5"), false},
		{"one that is none", int64(0), json.Number("x"), false},
		{"a text that is no quantity, for zero", "x", "0", false},
		{"zero for a text that is no quantity", int64(0), "x", false},
		{"a truth for the text of zero", false, "0", false},
		{"a truth for zero", false, int64(0), false},
		{"nothing in another shape than a map's", m{}, "", false},
		{"nothing in another shape than a list's", l{}, "", false},
		{"nothing in another shape than a text's", "", int64(0), false},
	} {
		if got := SameMeaning(test.wanted, test.live); got != test.same {
			t.Errorf("%s: %v", test.reason, got)
		}
	}
}

func TestSameBytes(t *testing.T) {
	for _, test := range []struct {
		wanted, live any
		same         bool
	}{
		{"aGVsbG8=", "aGVsbG8=", true},
		{"aGVs\nbG8=\r\n", "aGVsbG8=", true},
		{"aGVsbG8=", "aGVsbG9v", false},
		{"no base64", "aGVsbG8=", false},
		{"aGVsbG8=", "no base64", false},
		{"no base64", "none either", false},
		{"", int64(1), false},
		{"aGVsbG8=", nil, false},
		{int64(1), "aGVsbG8=", false},
		{int64(1), "", false},
		{"aGVsbG8=!", "aGVsbG8=", false},
		{"aGVsbG8=", "aGVsbG8=!", false},
	} {
		if got := SameBytes(test.wanted, test.live); got != test.same {
			t.Errorf("%q and %q: %v", test.wanted, test.live, got)
		}
	}
}

func TestWithin(t *testing.T) {
	isNumber := func(value any) bool { _, ok := value.(int64); return ok }
	for _, test := range []struct {
		content any
		want    bool
	}{
		{int64(1), true},
		{"a", false},
		{map[string]any{"a": "b", "c": []any{"d", map[string]any{"e": int64(1)}}}, true},
		{map[string]any{"a": "b", "c": []any{"d", map[string]any{"e": "1"}}}, false},
	} {
		if got := Within(test.content, isNumber); got != test.want {
			t.Errorf("%v: %t", test.content, got)
		}
	}
}
