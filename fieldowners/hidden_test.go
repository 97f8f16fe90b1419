package fieldowners_test

import (
	"strings"
	"testing"

	"coapply.dev/fieldowners"
)

func TestHoldsSecret(t *testing.T) {
	for _, test := range []struct {
		reason, path string
		want         bool
	}{
		{"a value", `.data.password`, true},
		{"all of them", ".stringData", true},
		{"something above them", "", true},
		{"what client-side apply recorded", `.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`, true},
		{"annotations, which that is among", ".metadata.annotations", true},
		{"a label", ".metadata.labels.app", false},
		{"the type", ".type", false},
		{"a name that begins alike", ".database", false},
	} {
		if got := fieldowners.MustParsePath(test.path).HoldsSecret(); got != test.want {
			t.Errorf("%s, %q: %v", test.reason, test.path, got)
		}
	}
	if fieldowners.IsSecret("example.com", "Secret") || fieldowners.IsSecret("", "ConfigMap") || !fieldowners.IsSecret("", "Secret") {
		t.Error("only Secrets of the core group are known to be secret")
	}
}

func TestFormatValue(t *testing.T) {
	for want, value := range map[string]any{
		"(hidden)":                          fieldowners.Hide("x"),
		"null":                              fieldowners.Hide(nil),
		`"(hidden)"`:                        "(hidden)", // a value that looks so
		`{"a":"<b>"}`:                       map[string]any{"a": "<b>"},
		`"\u009b31m"`:                       "\u009b31m",
		`"` + strings.Repeat("é", 79) + "…": strings.Repeat("é", 100),
		`"` + strings.Repeat("é", 78) + `"`: strings.Repeat("é", 78),
		"func()":                            func() {},
		`{"a":1.5,"b":[true]}`:              map[string]any{"a": 1.5, "b": []any{true}},
	} {
		if got := fieldowners.FormatValue(value); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestEqualValues(t *testing.T) {
	type fields = map[string]any
	for _, test := range []struct {
		reason string
		a, b   any
		want   bool
	}{
		{"one number", int64(1), 1.0, true},
		{"the other way around", 1.0, int64(1), true},
		{"numbers that differ", int64(1), 1.5, false},
		{"the other way around", 1.5, int64(1), false},
		{"a number and a text", int64(1), "1", false},
		{"a number with a fraction and a text", 1.5, "1", false},
		{"the same", fields{"a": []any{int64(1), "x"}}, fields{"a": []any{1.0, "x"}}, true},
		{"other names", fields{"a": nil}, fields{"b": nil}, false},
		{"other values", fields{"a": "x"}, fields{"a": "y"}, false},
		{"a list and a map", []any{}, fields{}, false},
		{"a map and a list", fields{}, []any{}, false},
	} {
		if got := fieldowners.EqualValues(test.a, test.b); got != test.want {
			t.Errorf("%s: %t", test.reason, got)
		}
	}
}
