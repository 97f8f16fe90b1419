package plugin

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// writtenFile writes a file for the plugin.
func writtenFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// appliedFile applies YAML under a field manager, with the real kubectl.
func appliedFile(t *testing.T, manager, content string, args ...string) {
	t.Helper()
	arguments := append([]string{"apply", "--server-side", "--field-manager", manager, "-f", writtenFile(t, "applied.yaml", content)}, args...)
	if stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, kit.Server(t), arguments...)); code != 0 {
		t.Fatalf("kubectl apply: exit code %d\n%s%s", code, stdout, stderr)
	}
}

const checkedService = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: NAMESPACE, labels: {team: a}}
spec:
  selector: {app: web}
  ports:
  - {port: 80, name: web}
  - {port: 443, name: tls, targetPort: 8443}
`

// TestCheck checks a file with a conflict, a shared and a changed field. The intent leaves out the
// protocol of its ports, which is part of their key.
func TestCheck(t *testing.T) {
	t.Parallel()
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	service := strings.ReplaceAll(checkedService, "NAMESPACE", namespace)
	appliedFile(t, "first", service)
	wanted := writtenFile(t, "wanted.yaml", strings.Replace(strings.Replace(service, "8443", "9443", 1), "team: a", "team: b, new: c", 1))

	stdout, stderr, code := plugin(t, "check", "-f", wanted, "--field-manager", "second")
	want := `Service NAMESPACE/web: 2 conflicts
  .metadata.labels.team
      second wants "b", first/Apply has "a"
  .spec.ports[port=443,protocol="TCP"].targetPort
      second wants 9443, first/Apply has 8443
  becomes shared:
    .spec.ports[port=80,protocol="TCP"].name with first/Apply
    .spec.ports[port=80,protocol="TCP"].port with first/Apply
    .spec.ports[port=443,protocol="TCP"].name with first/Apply
    .spec.ports[port=443,protocol="TCP"].port with first/Apply
    .spec.selector with first/Apply
  changes:
    .metadata.labels.new: nothing -> "c"
`
	if got := strings.ReplaceAll(stdout, namespace, "NAMESPACE"); code != 1 || got != want || stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", code, cmp.Diff(want, got), stderr)
	}
	// The same for a pull request, with a second object that would be created.
	both := writtenFile(t, "both.yaml", strings.Replace(strings.Replace(service, "8443", "9443", 1), "team: a", "team: b", 1)+
		"---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: "+namespace+"}}\n")
	stdout, stderr, code = plugin(t, "check", "-f", both, "--field-manager", "second", "-o", "markdown")
	want = "**Server-side apply as `second`.** 2 objects: 2 conflicts in 1 object, 1 would be created, 0 unchanged.\n" + `
| Object | Field | Owner | Value now | Value in the file |
|---|---|---|---|---|
| 'Service NAMESPACE/web' | '.metadata.labels.team' | 'first/Apply' | '"a"' | '"b"' |
| 'Service NAMESPACE/web' | '.spec.ports[port=443,protocol="TCP"].targetPort' | 'first/Apply' | '8443' | '9443' |
`
	if got := strings.NewReplacer(namespace, "NAMESPACE", "`", "'").Replace(stdout); code != 1 || !strings.HasPrefix(got, strings.ReplaceAll(want, "`", "'")) ||
		!strings.Contains(got, "- 'ConfigMap NAMESPACE/settings'\n  - would be created\n") || stderr != "" {
		t.Errorf("exit code %d\n%s\n%s", code, got, stderr)
	}
	// The owner itself meets no conflict.
	stdout, stderr, code = plugin(t, "check", "-f", wanted, "--field-manager", "first", "-o", "json")
	if code != 0 || !strings.Contains(stdout, `"conflicts": []`) || !strings.Contains(stdout, `"after": 9443`) || stderr != "" {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}

	var live corev1.Service
	if err := kit.NewClient(t, kit.Server(t)).Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, &live); err != nil {
		t.Fatal(err)
	}
	if live.Labels["team"] != "a" || len(live.ManagedFields) != 1 {
		t.Errorf("a check changed the object: %v", live.ManagedFields)
	}
}

func TestCheckIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ reason, content, wants string }{
		{"a kind that the server does not know", `{apiVersion: example.com/v1, kind: Nonsense, metadata: {name: a}}`, `no matches for kind "Nonsense" in version "example.com/v1"`},
		{"a field that the kind does not have", `{apiVersion: v1, kind: ConfigMap, metadata: {name: check-refused}, dota: {a: b}}`, "dota"},
		{"no name", `{apiVersion: v1, kind: ConfigMap, data: {a: b}}`, "metadata.name is missing"},
		{"a value of a Secret", `{apiVersion: v1, kind: Secret, metadata: {name: check-refused}, stringData: {password: 12345678}}`, "the API server's message is hidden"},
		{"a namespace that does not exist", `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: nowhere}, data: {a: b}}`, "nowhere"},
	} {
		stdout, stderr, code := plugin(t, "check", "-f", writtenFile(t, "wrong.yaml", test.content), "--field-manager", "ci")
		if code != 2 || !strings.HasPrefix(stderr, "error: ") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, test.wants) || strings.Contains(stdout+stderr, "12345678") {
			t.Errorf("%s: exit code %d\n%s%s", test.reason, code, stdout, stderr)
		}
	}
}

// TestGetFromTheCluster asks for several kinds and for what is not there.
func TestGetFromTheCluster(t *testing.T) {
	t.Parallel()
	namespace := kit.NewNamespace(t, kit.NewClient(t, kit.Server(t)))
	for _, name := range []string{"get-a", "get-b"} {
		appliedFile(t, "getter", `{apiVersion: v1, kind: Secret, metadata: {name: `+name+`, namespace: `+namespace+`}, stringData: {password: TOPSECRET}}`)
	}
	stdout, stderr, code := plugin(t, "secrets", "-n", namespace, "--manager", "getter", "-o", "name")
	if stdout != "secret/get-a\nsecret/get-b\n" || code != 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	stdout, stderr, code = plugin(t, "secret/get-a", "secret/nosuch", "-n", namespace, "-o", "table")
	if !strings.Contains(stdout, `.data.password`) || !strings.Contains(stderr, `"nosuch" not found`) || code != 2 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for _, output := range []string{"tree", "table", "wide", "json", "yaml", "name", "html"} {
		stdout, stderr, code := plugin(t, "secret", "get-a", "-n", namespace, "-o", output)
		if code != 0 || stderr != "" || strings.Contains(stdout, "TOPSECRET") || strings.Contains(stdout, "VE9QU0VDUkVU") {
			t.Errorf("-o %s: exit code %d\n%s%s", output, code, stdout, stderr)
		}
	}
	for _, test := range []struct{ reason, object, wants string }{
		{"unknown kind", "nonsense/a", `the server doesn't have a resource type "nonsense"`},
		{"not there", "secret/nosuch", `secrets "nosuch" not found`},
	} {
		if _, stderr, code := plugin(t, test.object); code != 2 || !strings.Contains(stderr, test.wants) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d\n%s", test.reason, code, stderr)
		}
	}
	if _, stderr, code := plugin(t, "secrets", "--as", "nobody"); code != 2 || !strings.Contains(stderr, "Forbidden") && !strings.Contains(stderr, "forbidden") {
		t.Errorf("no permission: exit code %d\n%s", code, stderr)
	}
	if _, stderr, code := plugin(t, "secrets", "-s", "https://127.0.0.1:1"); code != 2 || !strings.HasPrefix(stderr, "The connection to the server") {
		t.Errorf("no server: exit code %d\n%s", code, stderr)
	}
}

// TestCheckTellsOfTheTakeover: kubectl removes what it had written by client-side
// apply, whatever the field manager, and check says so before.
func TestCheckTellsOfTheTakeover(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	object := `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ` + namespace + `}, data: {kept: "1"DATA}}`
	file := writtenFile(t, "whole.yaml", strings.Replace(object, "DATA", `, lost: "1"`, 1))
	if _, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, kit.Server(t), "apply", "-f", file)); code != 0 {
		t.Fatal(stderr)
	}
	partial := strings.Replace(object, "DATA", "", 1)
	stdout, stderr, code := plugin(t, "check", "-f", writtenFile(t, "partial.yaml", partial), "--field-manager", "ci")
	if code != 0 || !strings.Contains(stdout, "wrote by client-side apply:\n    .data.lost\n") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	appliedFile(t, "ci", partial)
	var live corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "a"}, &live); err != nil || len(live.Data) != 1 {
		t.Errorf("kubectl does it no longer: %v %v", live.Data, err)
	}
}

// TestCheckWithoutTheRightToPatch compares what check computes for a user who may only read, and from files without a
// cluster, with the dry run of a user who may patch. The files have values that the API server stores as they are written.
func TestCheckWithoutTheRightToPatch(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	allowReading(t, c, namespace, "reader")
	service := strings.ReplaceAll(checkedService, "NAMESPACE", namespace)
	appliedFile(t, "first", service)
	appliedFile(t, "second", `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: `+namespace+`, labels: {old: a}}}`)
	appliedFile(t, "first", `{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: `+namespace+`}, data: {password: VE9QU0VDUkVU}}`)
	kubectl := func(args ...string) string {
		stdout, stderr, code := kit.OutputOf(t, kit.KubectlCommand(t, kit.Server(t), args...))
		if code != 0 {
			t.Fatal(stderr)
		}
		return stdout
	}
	live := writtenFile(t, "live.yaml", kubectl("get", "services,secrets", "-n", namespace, "-o", "yaml", "--show-managed-fields"))
	schemas := writtenFile(t, "openapi.json", kubectl("get", "--raw", "/openapi/v3/api/v1"))
	wiped := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "wiped"}, Data: map[string]string{"k": "v"}}
	if err := errors.Join(c.Create(t.Context(), wiped), c.Patch(t.Context(), wiped, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`)))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		title, content string
		subresource    string
		code           int
	}{
		{"conflicts, shared, dropped and changed fields", strings.Replace(strings.Replace(service, "8443", "9443", 1), "team: a", "team: b, new: c", 1), "", 1},
		{"no conflict", strings.Replace(service, "team: a", "new: c", 1), "", 0},
		{"a Secret", `{apiVersion: v1, kind: Secret, metadata: {name: key, namespace: ` + namespace + `}, data: {password: VE9QU0VDUkVM}}`, "", 1},
		{"an object that does not exist", `{apiVersion: v1, kind: ConfigMap, metadata: {name: new, namespace: ` + namespace + `}, data: {k: v}}`, "", 0},
		{"a status", `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: ` + namespace + `}, status: {conditions: [{type: Ready, status: "True", reason: A, message: a, lastTransitionTime: "2026-01-01T00:00:00Z"}]}}`, "status", 0},
	} {
		args := []string{"check", "-f", writtenFile(t, "wanted.yaml", test.content), "--field-manager", "second", "--subresource", test.subresource, "-o", "json"}
		want, _, wantCode := plugin(t, args...)
		got, stderr, code := plugin(t, append(args, "--as", "reader")...)
		computed := strings.Replace(want, `"computed": false`, `"computed": true`, 1)
		if code != test.code || wantCode != test.code || got != computed || computed == want || strings.Contains(got, "VE9") {
			t.Errorf("%s: exit code %d, and %d by a dry run\n%s\n%s", test.title, code, wantCode, cmp.Diff(computed, got), stderr)
		}
		if got, stderr, code := plugin(t, append(args, "--live", live, "--openapi", schemas, "-s", "https://127.0.0.1:1")...); code != test.code || got != computed {
			t.Errorf("%s, from files: exit code %d\n%s\n%s", test.title, code, cmp.Diff(computed, got), stderr)
		}
	}
	file := writtenFile(t, "wiped.yaml", `{apiVersion: v1, kind: ConfigMap, metadata: {name: wiped, namespace: `+namespace+`}, data: {k: w}}`)
	for user, wants := range map[string]string{
		"reader": "ConfigMap wiped: without permission to patch there is no dry run, and the effects cannot be computed either: the object has no managed fields",
		"nobody": `User "nobody" cannot get resource "configmaps"`,
	} {
		if stdout, stderr, code := plugin(t, "check", "-f", file, "--field-manager", "second", "--as", user); code != 2 || stdout != "" || !strings.Contains(stderr, wants) {
			t.Errorf("%s: exit code %d\n%s%s", user, code, stdout, stderr)
		}
	}
	stdout, _, _ := plugin(t, "check", "-f", writtenFile(t, "service.yaml", service), "--field-manager", "second", "--as", "reader")
	if !strings.Contains(stdout, "/web: no conflict, computed without a dry run, because you have no permission to patch\n") {
		t.Errorf("the text does not say that it is computed:\n%s", stdout)
	}
}
