package page_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coapply.dev/cmd/kubectl-fieldowners/internal/page"
	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

const web = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  uid: 0b1c6c39
  resourceVersion: "17"
  labels: {app: web, tier: front}
  managedFields:
  - {manager: alice, operation: Apply, apiVersion: apps/v1, time: "2026-01-30T12:00:00Z", fieldsType: FieldsV1, fieldsV1:
      {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:replicas": {}, "f:paused": {}}}}
  - {manager: hpa, operation: Update, subresource: scale, apiVersion: apps/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {"f:replicas": {}}}}
spec:
  replicas: 3
`

// TestObject shows what a page consists of.
func TestObject(t *testing.T) {
	golden(t, "object.html", pageOf(t, about(), object(t, web)))
}

// TestRecorded makes a page of every recorded object, and one of all.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("../../../../fieldowners/testdata/objects/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	var all []page.Shown
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, object(t, string(text)))
		html := pageOf(t, about(), all[len(all)-1])
		lines, _ := all[len(all)-1].Lines(view.Filter{})
		if shown := strings.Count(html, "<code><span>"); shown != len(lines) || shown == 0 {
			t.Errorf("%s: %d lines of %d", file, shown, len(lines))
		}
		hasNot(t, html, "<nav")
	}
	html := pageOf(t, about(), all...)
	if links := strings.Count(html, `<a href="#object-`); links != len(files) {
		t.Errorf("%d links to %d objects", links, len(files))
	}
}

// TestOneManagerOneBadge holds that letters mean the same on the whole page.
func TestOneManagerOneBadge(t *testing.T) {
	second := strings.NewReplacer("name: web", "name: api", "manager: alice", "manager: bob").Replace(web)
	html := pageOf(t, about(), object(t, web), object(t, second))
	for name, letter := range map[string]string{"alice": "A", "hpa": "B", "bob": "C"} {
		has(t, html, `>`+letter+`</i>`+name+`</label>`)
	}
}

// TestNotKnown holds that what is not known is not passed off as unowned.
func TestNotKnown(t *testing.T) {
	absent := pageOf(t, about(), object(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: cm}, data: {a: b}}`))
	has(t, absent, "managedFields absent.", "Ask with --show-managed-fields", "a: b")
	hasNot(t, absent, "nobody</span>", "that nobody owns</summary>", `class="legend"`)

	unread := pageOf(t, about(), object(t, strings.Replace(web, `{"f:spec": {"f:replicas": {}}}`, `{"x": {}}`, 1)))
	has(t, unread, "Not all owners are known.", "hpa", ">alice</label>")

	failed := about()
	failed.Incomplete = errors.New("deployments.apps \"api\" is forbidden")
	has(t, pageOf(t, failed, object(t, web)), "<strong>Incomplete.</strong>", "api&#34; is forbidden")

	has(t, pageOf(t, about()), "0 objects", "No fields found.")
}

// TestSecret holds that no value of a Secret is on a page.
func TestSecret(t *testing.T) {
	html := pageOf(t, about(), object(t, `{apiVersion: v1, kind: Secret, metadata: {name: s, managedFields: [
		{manager: m, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:key": {}}}}]}, data: {key: aHVudGVyMg==}}`))
	has(t, html, "key: (hidden)", ">m</label>")
	hasNot(t, html, "aHVudGVyMg")
}

// TestFilter holds that a page shows what was asked for, and says so.
func TestFilter(t *testing.T) {
	shown := object(t, web)
	shown.Filter.Shared = true
	narrowed := about()
	narrowed.Narrowed = "--shared"
	html := pageOf(t, narrowed, shown)
	has(t, html, "<code>--shared</code>", "replicas: 3", "1 shared field", "4 fields: 2 with one owner")
	hasNot(t, html, "tier: front", "that nobody owns</summary>")
}
