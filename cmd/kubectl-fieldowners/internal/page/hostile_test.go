package page_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestHostile puts into every place of an object what a page must show as text.
func TestHostile(t *testing.T) {
	for name, text := range map[string]string{
		"element":   `<script>alert(1)</script><img src=x onerror=alert(1)>`,
		"attribute": `" onmouseover="alert(1)" x='` + "`",
		"end":       `</style></title></textarea>--></code></svg>`,
		"template":  `{{.}} {{template "page"}}`,
		"style":     `;}*{background:url(https://example.com/x)}`,
		"control":   "a\x00b\x1b[31mc\u0007\u0085\u2028\r\n",
		"direction": "user\u202etxt.exe\u2066\u200b",
	} {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		path, err := json.Marshal("f:" + text)
		if err != nil {
			t.Fatal(err)
		}
		html := pageOf(t, about(), objectOfJSON(t, fmt.Sprintf(`{"apiVersion": %[1]s, "kind": %[1]s, "metadata": {"name": %[1]s, "namespace": %[1]s, "uid": %[1]s,
			"resourceVersion": %[1]s, "managedFields": [
			{"manager": %[1]s, "operation": %[1]s, "subresource": %[1]s, "apiVersion": %[1]s, "fieldsType": "FieldsV1", "fieldsV1": {%[2]s: {}, "f:gone": {%[2]s: {}}}},
			{"manager": "other", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {%[2]s: {}}},
			{"manager": %[1]s, "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {%[1]s: {}}}]},
			%[1]s: %[1]s, "free": {%[1]s: [%[1]s]}}`, quoted, path)))
		hasNot(t, html, "<script", "<img", "\x1b", "\x00", "\u202e", "\u2066", "\u2028", "\u0085")
		if !strings.Contains(html, "1 shared field") {
			t.Errorf("%s: the shared field is not shown:\n%s", name, html)
		}
	}
}

// TestLong holds that a page stays a page for what is very long, and says what it
// leaves out.
func TestLong(t *testing.T) {
	long := strings.Repeat("long ", 200_000)
	html := pageOf(t, about(), object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, managedFields: [
		{manager: "`+long+`", operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:a": {}}}}]}, data: {a: "x`+strings.Repeat("é", 5000)+`"}}`))
	has(t, html, "… (4,004 more characters)", "… (999,000 more characters)")
	if len(html) > 100_000 {
		t.Errorf("%d bytes", len(html))
	}
}

// TestMany makes a page of 10,000 fields, and of more managers than have colours or
// can be picked out.
func TestMany(t *testing.T) {
	var data, owned, entries []string
	for i := range 10_000 {
		data = append(data, fmt.Sprintf(`"k%d": v`, i))
		owned = append(owned, fmt.Sprintf(`"f:k%d": {}`, i))
	}
	const managers = 60
	for i := range managers {
		entries = append(entries, fmt.Sprintf(`{manager: m%02d, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {%s}}}`,
			i, strings.Join(owned[i*100:i*100+150], ", ")))
	}
	html := pageOf(t, about(), object(t, fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: cm, managedFields: [%s]}, data: {%s}}`,
		strings.Join(entries, ", "), strings.Join(data, ", "))))
	if lines := strings.Count(html, "<code><span>"); lines != 10_000+5 {
		t.Errorf("%d lines", lines)
	}
	has(t, html, ">Z</i>m25</label>", ">AA</i>m26</label>", ">BH</i>m59</label>", "10,000 fields: 3,100 with one owner, 2,950 shared, 3,950 that nobody owns")
}
