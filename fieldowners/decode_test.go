package fieldowners_test

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/fieldowners"
)

func TestParseRefuses(t *testing.T) {
	missing := entry("m", "Apply", "")
	missing.FieldsV1 = nil
	oldType := entry("m", "Apply", "{}")
	oldType.FieldsType = "FieldsV0"
	for reason, test := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  string
	}{
		"no fields":    {missing, "fieldsV1 is missing"},
		"another type": {oldType, `fieldsType is "FieldsV0", want FieldsV1`},
		"broken":       {entry("m", "Apply", `{"f:spec":{}} garbage`), `fieldsV1: near offset 14: unexpected text after the JSON value`},
	} {
		good := entry("good", "Apply", `{"f:spec":{}}`)
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{good, test.entry})
		if err == nil || err.Error() != `managedFields[1] (manager "m"): `+test.want {
			t.Errorf("%s: got %v, want %s", reason, err, test.want)
		}
		wrong := (*fieldowners.EntryError)(nil)
		if !errors.As(err, &wrong) || wrong.Index != 1 || wrong.Manager != "m" {
			t.Errorf("%s: %#v, want an EntryError of the second entry", reason, err)
		}
		if len(ownership.Entries()) != 0 {
			t.Errorf("%s: a partial result", reason)
		}
	}
}

// brokenFields are refused. What smd says of them is noted where it accepts them.
var brokenFields = []struct{ reason, fields, want string }{
	{"nothing", ``, `near offset 0: unexpected EOF`},
	{"white space", ` `, `unexpected EOF`},
	{"null, which smd takes for no fields", `null`, `an object is expected`},
	{"a list", `[]`, `an object is expected`},
	{"truncated behind a colon", `{"f:spec":{"f:replicas":`, `near offset 24: unexpected EOF`},
	{"truncated in a key", `{"f:spec`, `unexpected EOF`},
	{"truncated in an escape", `{"f:a\`, `unexpected EOF`},
	{"truncated behind a field", `{"f:spec":{}`, `near offset 12: unexpected EOF`},
	{"text behind the value, which smd does not read", `{"f:spec":{}} garbage`, `near offset 14: unexpected text after the JSON value`},
	{"a second value", `{"f:spec":{}}{}`, `unexpected text after the JSON value`},
	{"a zero byte behind the value", "{}\x00", `near offset 2: unexpected text after the JSON value`},
	{"a comma too many", `{"f:a":{},}`, `near offset 10: invalid character '}'`},
	{"no comma", `{"f:a":{} "f:b":{}}`, `near offset 10: invalid character '"'`},
	{"no colon", `{"f:a"{}}`, `near offset 6: invalid character '{'`},
	{"a key without quotes", `{f:a:{}}`, `near offset 1: invalid character 'f'`},
	{"a value that is no object, which smd skips", `{"f:spec":{"f:replicas":1}}`, `near offset 25: an object is expected`},
	{"a null, which smd takes for a field", `{"f:a":null}`, `near offset 11: an object is expected`},
	{"content of the field itself, which smd skips", `{"f:a":{".":{"f:b":{}}}}`, `{} is expected for "."`},
	{"a wrong key in the field itself", `{"f:a":{".":{"":0}}}`, `key "": the form is unknown`},
	{"the field itself twice", `{"f:a":{".":{},".":{}}}`, `"." occurs twice`},
	{"a form of the future, which smd skips", `{"f:a":{},"x:a":{}}`, `near offset 15: key "x:a": the form is unknown: want ".", "f:name"`},
	{"white space before it", `{"f:a":{}, "spec":{}}`, `key "spec": the form is unknown`},
	{"no form", `{"spec":{}}`, `key "spec": the form is unknown`},
	{"an empty key", `{"":{}}`, `key "": the form is unknown`},
	{"a form without a colon", `{"f":{}}`, `key "f": the form is unknown`},
	{"a field twice, of which smd takes the last", `{"f:a":{"f:b":{}},"f:a":{"f:c":{}}}`, `near offset 23: key "f:a" occurs twice`},
	{"a field twice, escaped", `{"f:a":{},"f:\u0061":{}}`, `key "f:a" occurs twice`},
	{"one value twice", `{"v:1":{},"v:1.0":{}}`, `key "v:1.0" occurs twice`},
	{"a broken list key", `{"k:{\"name\"":{}}`, `key "k:{\"name\"": JSON is expected after "k:"`},
	{"text behind a list key, which smd does not read", `{"k:{\"n\":1}z":{}}`, `JSON is expected after "k:"`},
	{"a list key that is no object", `{"k:[1]":{}}`, `key "k:[1]": the JSON after "k:" has the wrong form`},
	{"a list key of two lines", `{"k:0\n":{}}`, `the JSON after "k:" has the wrong form`},
	{"a list key without fields", `{"k:{}":{}}`, `fields are expected after "k:"`},
	{"a list key that is null, which smd takes for one without fields", `{"k:null":{}}`, `fields are expected after "k:"`},
	{"a list key with a field twice", `{"k:{\"n\":1,\"n\":2}":{}}`, `the key field "n" occurs twice`},
	{"a list key of a list", `{"k:{\"n\":[1]}":{}}`, `the value of the key field "n" is not a string, number, boolean or null`},
	{"no value, which smd takes for null", `{"v:":{}}`, `JSON is expected after "v:"`},
	{"text behind a value", `{"v:1 2":{}}`, `JSON is expected after "v:"`},
	{"a value that is an object", `{"v:{\"a\":1}":{}}`, `a string, number, boolean or null is expected after "v:"`},
	{"a number beyond all", `{"v:1e999":{}}`, `key "v:1e999": the JSON after "v:" has the wrong form, or contains a number that does not fit in 64 bits`},
	{"an index that is none", `{"i:x":{}}`, `an index is expected after "i:"`},
	{"an index below zero", `{"i:-1":{}}`, `an index is expected after "i:"`},
	{"an index of two spellings", `{"i:01":{}}`, `an index is expected after "i:"`},
	{"a control character", "{\"f:a\nb\":{}}", `invalid character '\n' in string literal`},
	{"an unknown escape", `{"f:\x":{}}`, `invalid character 'x' in string escape code`},
	{"no UTF-8", "{\"f:\xff\":{}}", `fieldsV1 is not UTF-8`},
	{"no UTF-8 in a value", "{\"v:\\\"\xff\\\"\":{}}", `fieldsV1 is not UTF-8`},
	{"too deep", strings.Repeat(`{"f:a":`, 1002) + "{}" + strings.Repeat("}", 1002), `nested deeper than 1000 levels`},
	{"a very long key is cut off", `{"` + strings.Repeat("x", 1000) + `":{}}`, `key "` + strings.Repeat("x", 80) + `": the form is unknown`},
}

func TestParseRefusesFields(t *testing.T) {
	for _, test := range brokenFields {
		ownership, err := fieldowners.Parse([]metav1.ManagedFieldsEntry{entry("m", "Apply", test.fields)})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line with: %s", test.reason, err, test.want)
		}
		if len(ownership.Entries()) != 0 {
			t.Errorf("%s: a partial result", test.reason)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	for _, test := range []struct {
		reason, fields string
		want           string
	}{
		{"nothing owned", `{}`, ""},
		{"the object itself, which nobody owns", `{".":{}}`, ""},
		{"white space", " {\t\"f:a\" :\r\n { \".\" : { } , \"f:b\" : {} } } \n", ".a .a.b"},
		{"a field that owns itself in both ways", `{"f:a":{},"f:b":{".":{}}}`, ".a .b"},
		{"any order", `{"f:b":{},"f:a":{"f:z":{},".":{},"f:y":{}}}`, ".a .a.y .a.z .b"},
		{"an empty name", `{"f:":{}}`, `[""]`},
		{"escapes", `{"f:\u0061\"\\\/":{},"f:\ud83d\ude42":{}}`, `["a\"\\/"] ["🙂"]`},
		{"every form", `{"f:a":{"k:{\"b\":1,\"a\":null}":{},"v:true":{},"v:\"x\"":{},"v:-1.5":{},"i:0":{},"i:12":{}}}`,
			`.a[a=null,b=1] .a[=-1.5] .a[="x"] .a[=true] .a[0] .a[12]`},
	} {
		e := ownership(t, entry("m", "Apply", test.fields)).Entries()[0]
		var got []string
		for _, path := range e.Fields() {
			got = append(got, path.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: got %s, want %s", test.reason, strings.Join(got, " "), test.want)
		}
	}
}
