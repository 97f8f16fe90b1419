package plugin

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"coapply.dev/cmd/kubectl-fieldowners/explain"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// kubectlWorld runs the real kubectl in a namespace of the test's own.
type kubectlWorld struct {
	*testing.T
	client    client.Client
	namespace string
}

func newKubectlWorld(t *testing.T) kubectlWorld {
	t.Helper()
	c := kit.NewClient(t, kit.Server(t))
	return kubectlWorld{t, c, kit.NewNamespace(t, c)}
}

// run gives what kubectl printed, and whether it succeeded.
func (w kubectlWorld) run(args ...string) (output string, ok bool) {
	w.Helper()
	stdout, stderr, code := kit.OutputOf(w, kit.KubectlCommand(w, kit.Server(w), append([]string{"--namespace", w.namespace}, args...)...))
	return stdout + stderr, code == 0
}

func (w kubectlWorld) must(args ...string) {
	w.Helper()
	if out, ok := w.run(args...); !ok {
		w.Fatalf("kubectl %s: %s", strings.Join(args, " "), out)
	}
}

// file writes objects given as YAML.
func (w kubectlWorld) file(text string) string {
	w.Helper()
	path := filepath.Join(w.TempDir(), "objects.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	return path
}

// answer applies as kubectl does, and gives the API server's Status as JSON.
func (w kubectlWorld) answer(text, manager string) []byte {
	w.Helper()
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		w.Fatal(err)
	}
	object.SetNamespace(w.namespace)
	err := w.client.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(&object), client.FieldOwner(manager))
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		w.Fatalf("no Status: %v", err)
	}
	answered := status.Status()
	encoded, err := json.Marshal(&answered)
	if err != nil {
		w.Fatal(err)
	}
	return encoded
}

func (w kubectlWorld) live(kind, apiVersion, name string) map[string]any {
	w.Helper()
	live := &unstructured.Unstructured{}
	live.SetAPIVersion(apiVersion)
	live.SetKind(kind)
	if err := w.client.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, live); err != nil {
		w.Fatal(err)
	}
	return live.Object
}

// conflictLines gives the conflicts of explanations, sorted: kubectl's text has
// another order than the Status.
func conflictLines(t *testing.T, answer []byte, live, intent map[string]any) (lines []string) {
	t.Helper()
	explanations, err := explain.Answer(answer, list(live), list(intent))
	if err != nil {
		t.Fatalf("%v\n%s", err, answer)
	}
	for _, e := range explanations {
		for _, c := range e.Conflicts {
			lines = append(lines, lineOf(c))
		}
	}
	slices.Sort(lines)
	return lines
}

// lineOf returns the field, its owner and what is known of the values on one line.
func lineOf(c explain.Conflict) string {
	text := cmp.Or(c.Path.String(), c.ServerPath) + ": owned by " + c.Owner.String()
	if c.Theirs != nil {
		text += " with " + fieldowners.FormatValue(*c.Theirs)
	}
	if c.Ours != nil {
		text += ", ours is " + fieldowners.FormatValue(*c.Ours)
	}
	return text
}

const explained = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations: {a.b/c: one, plain: one}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: one}]}
`

// TestExplainAgrees provokes conflicts and explains the API server's Status and
// what the real kubectl prints: both say the same, and what is so.
func TestExplainAgrees(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(explained))
	w.must("apply", "--server-side", "--field-manager=co-owner", "-f", w.file(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {a.b/c: one}}}`))
	w.must("patch", "--field-manager=editor", "deployment", "web", "--patch", `{"metadata":{"annotations":{"plain":"edited"}}}`)
	w.must("scale", "deployment/web", "--replicas=4")
	for _, c := range []struct {
		reason, intent string
		want           []string
	}{
		{"one conflict with a manager that applied",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {template: {spec: {containers: [{name: web, image: two}]}}}}`,
			[]string{`.spec.template.spec.containers[name="web"].image: owned by one/Apply with "one", ours is "two"`}},
		{"one conflict with a manager that updated",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {plain: two}}}`,
			[]string{`.metadata.annotations.plain: owned by editor/Update with "edited", ours is "two"`}},
		{"one conflict with a write to a subresource",
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2}}`,
			[]string{`.spec.replicas: owned by kubectl/Update[scale] with 4, ours is 2`}},
		{"several fields of several managers, one of them with two owners",
			strings.NewReplacer("one", "two", "replicas: 1", "replicas: 2").Replace(explained),
			[]string{
				`.metadata.annotations.plain: owned by editor/Update with "edited", ours is "two"`,
				`.metadata.annotations["a.b/c"]: owned by co-owner/Apply with "one", ours is "two"`,
				`.metadata.annotations["a.b/c"]: owned by one/Apply with "one", ours is "two"`,
				`.spec.replicas: owned by kubectl/Update[scale] with 4, ours is 2`,
				`.spec.template.spec.containers[name="web"].image: owned by one/Apply with "one", ours is "two"`,
			}},
	} {
		var intent map[string]any
		if err := yaml.Unmarshal([]byte(c.intent), &intent); err != nil {
			t.Fatal(err)
		}
		live := w.live("Deployment", "apps/v1", "web")
		printed, ok := w.run("apply", "--server-side", "--field-manager=us", "-f", w.file(c.intent))
		if ok || !strings.Contains(printed, "Please review the fields above") {
			t.Fatalf("%s: %s", c.reason, printed)
		}
		status := w.answer(c.intent, "us")
		for from, answer := range map[string][]byte{"kubectl's text": []byte(printed), "the Status": status} {
			if diff := gocmp.Diff(c.want, conflictLines(t, answer, live, intent)); diff != "" {
				t.Errorf("%s: from %s (-want +got):\n%s\n%s", c.reason, from, diff, answer)
			}
		}
		if diff := gocmp.Diff(conflictLines(t, status, nil, nil), conflictLines(t, []byte(printed), nil, nil)); diff != "" {
			t.Errorf("%s: without objects (-Status +text):\n%s", c.reason, diff)
		}
	}
}

// TestExplainKubectlTexts explains the other texts in which the real kubectl answers.
func TestExplainKubectlTexts(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\n"
	w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(one))
	w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(strings.Replace(one, "name: a", "name: b", 1)))
	two := strings.Replace(one, "'1'", "'2'", 1)
	stale := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, resourceVersion: '1'}\n"
	several := w.file(two + "---\n" + strings.Replace(two, "name: a", "name: b", 1) + "---\n" + stale)
	for _, c := range []struct {
		reason string
		args   []string
		want   int // explanations
		err    string
	}{
		{"three objects, one of them a stale write", []string{"apply", "--server-side", "--field-manager=us", "-f", several}, 2, ""},
		{"a dry run", []string{"apply", "--server-side", "--dry-run=server", "--field-manager=us", "-f", w.file(two)}, 1, ""},
		{"diff", []string{"diff", "--server-side", "--field-manager=us", "-f", w.file(two)}, 1, ""},
		{"the requests shown", []string{"apply", "--server-side", "--field-manager=us", "-v=8", "-f", w.file(two)}, 1, ""},
		{"a stale write, with kubectl's advice about managers", []string{"apply", "--server-side", "--field-manager=us", "-f", w.file(stale)}, 0, "stale write, not an apply conflict"},
		{"a stale write, replaced", []string{"replace", "-f", w.file(stale)}, 0, "stale write, not an apply conflict"},
		{"a create", []string{"create", "-f", w.file(one)}, 0, "AlreadyExists"},
		{"not found", []string{"get", "configmap", "none"}, 0, "not an apply conflict: NotFound"},
		{"a wrong type", []string{"apply", "--server-side", "-f", w.file(strings.Replace(one, "'1'", "1", 1))}, 0, "a response of the API server, but not an apply conflict"},
		{"success", []string{"apply", "--server-side", "--field-manager=one", "-f", w.file(one)}, 0, "no conflict found"},
	} {
		printed, _ := w.run(c.args...)
		explanations, err := explain.Answer([]byte(printed), nil, nil)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if len(explanations) != c.want || (c.err == "") != (err == nil) || !strings.Contains(said, c.err) {
			t.Errorf("%s: %d explanations, %v; want %d, %q\n%s", c.reason, len(explanations), err, c.want, c.err, printed)
		}
	}
}

// TestExplainWaysWork goes each way out by the command that Explain gives for it.
func TestExplainWaysWork(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	const one, ours = `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "1"}}`, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "2", z: "2"}}`
	explanations, err := explain.Answer([]byte(`Apply failed with 1 conflict: conflict with "one": .data.x`), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		file string
		want []string
	}{
		{ours, []string{`.data.x us/Apply v1`, `.data.z us/Apply v1`}},
		{strings.Replace(ours, `x: "2", `, "", 1), []string{`.data.x one/Apply v1`, `.data.z us/Apply v1`}},
		{strings.Replace(ours, `x: "2"`, `x: "1"`, 1), []string{`.data.x one/Apply v1`, `.data.x us/Apply v1`, `.data.z us/Apply v1`}},
	} {
		w.run("delete", "configmap", "a")
		w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(one))
		if _, ok := w.run("apply", "--server-side", "--field-manager=us", "-f", w.file(ours)); ok {
			t.Fatal("no conflict")
		}
		way := explanations[0].Ways[i]
		command := strings.NewReplacer("MANAGER", "us", "FILE", w.file(c.file)).Replace(way.Command)
		w.must(strings.Fields(command)[1:]...)
		live := &unstructured.Unstructured{Object: w.live("ConfigMap", "v1", "a")}
		owned := slices.DeleteFunc(kit.FieldsBy(t, live.GetManagedFields()), func(l string) bool { return !strings.HasPrefix(l, ".data.") })
		if diff := gocmp.Diff(c.want, owned); diff != "" {
			t.Errorf("%s (-want +got):\n%s", way.Title, diff)
		}
	}
}

// TestExplainPlugin pipes what kubectl printed into the plugin, as a person would, and
// looks with the command that it gives.
func TestExplainPlugin(t *testing.T) {
	t.Parallel()
	w := newKubectlWorld(t)
	w.must("apply", "--server-side", "--field-manager=one", "-f", w.file(explained))
	intent := w.file(strings.Replace(explained, "a.b/c: one", "a.b/c: two", 1))
	printed, ok := w.run("apply", "--server-side", "--field-manager=us", "-f", intent)
	if ok {
		t.Fatal("no conflict")
	}
	live, _ := w.run("get", "deployment", "web", "-o", "yaml", "--show-managed-fields")
	plugin := kit.KubectlCommand(t, kit.Server(t), "fieldowners", "explain", "--intent", intent, "--live", w.file(live))
	plugin.Stdin = strings.NewReader(printed)
	stdout, stderr, code := kit.OutputOf(t, plugin)
	if want := "1 conflict on Deployment " + w.namespace + "/web\n" +
		"  .metadata.annotations[\"a.b/c\"]\n    owner  one/Apply\n    live   \"one\"\n    yours  \"two\"\n"; !strings.HasPrefix(stdout, want) || stderr != "" || code != 0 {
		t.Errorf("exit code %d, %s\n%s", code, stderr, stdout)
	}
	explanations, err := explain.Answer([]byte(printed), list(w.live("Deployment", "apps/v1", "web")), nil)
	if err != nil {
		t.Fatal(err)
	}
	look := exec.CommandContext(t.Context(), "sh", "-c", explanations[0].Look+" -o table")
	kubectl := kit.KubectlCommand(t, kit.Server(t))
	look.Env = slices.Clone(kubectl.Env)
	for i, variable := range look.Env {
		if path, is := strings.CutPrefix(variable, "PATH="); is {
			look.Env[i] = "PATH=" + filepath.Dir(kubectl.Path) + string(os.PathListSeparator) + path
		}
	}
	stdout, stderr, code = kit.OutputOf(t, look)
	if !strings.Contains(stdout, `["a.b/c"]`) || !strings.Contains(stdout, "one") || strings.Contains(stdout, "replicas") || code != 0 {
		t.Errorf("%s: exit code %d, %s\n%s", explanations[0].Look, code, stderr, stdout)
	}
}

// list returns an object as a list; none for nil.
func list(object map[string]any) []map[string]any {
	if object == nil {
		return nil
	}
	return []map[string]any{object}
}
