package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

// allowReading lets a user read what is in a namespace, and no more.
func allowReading(t *testing.T, c client.Client, namespace, user string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: user}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps", "secrets", "services"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

var troubles = []struct {
	reason string
	args   string
	stdout string // a part of it; "" is none at all
	stderr []string
	code   int
}{
	{
		"an object that is not there", "release configmap/none --field-manager ci", "",
		[]string{`Error from server (NotFound): configmaps "none" not found`}, 2,
	},
	{
		"the others are handled, whatever the order", "migrate configmap/none configmap/a configmap/b --from old --to ci",
		"ConfigMap NS/a: 2 fields to move\n  old/Update -> ci/Apply:\n    .data\n    .data.k\nConfigMap NS/b: nothing to move\n",
		[]string{`(NotFound)`, "warning: ConfigMap NS/b: old/Update owns no field of the object; the owners are ci/Apply", "dry run"}, 2,
	},
	{
		"nothing to move is nothing found", "migrate configmap/b --from old --to us --yes", "ConfigMap NS/b: nothing to move\n",
		[]string{"warning: ConfigMap NS/b: old/Update owns no field of the object"}, 0,
	},
	{
		"the flag, not the library's verb", "migrate configmap/b --from ci --to us", "ConfigMap NS/b: nothing to move\n",
		[]string{"the manager owns fields by Apply: use --operation Apply"}, 0,
	},
	{
		"nothing to give up is nothing found", "release configmap/a --field-manager old --yes", "ConfigMap NS/a: nothing to give up: old owns no field by Apply\n",
		[]string{"release does not give up 1 field that old owns by Update; to give these fields up as well, run kubectl fieldowners migrate --from old --to old first"}, 0,
	},
	{
		"nobody would be left", "release configmap/b --field-manager ci", ".data.k: removed, with its value \"v\"\n",
		[]string{"ci is the only recorded owner", "before-first-apply"}, 1,
	},
	{"a kind that is not there", "release nonsense/a --field-manager ci", "", []string{`error: the server doesn't have a resource type "nonsense"`}, 2},
	{"all of a kind is not meant", "migrate configmap --from old --to ci --yes", "", []string{"no name was specified"}, 2},
	{"a folder that is not there", "migrate configmap/a --from old --to ci --yes --undo-file no/u.json", "2 fields to move", []string{
		"error: nothing was written, as the undo file no/u.json cannot be saved: no such file or directory",
	}, 2},
	{"a file that is there", "migrate configmap/a --from old --to ci --yes --undo-file there", "2 fields to move", []string{
		"error: nothing was written, as the undo file there exists already: move the file away, or name another file by --undo-file",
	}, 2},
	{"who may read may look", "migrate configmap/a --from old --to ci --as reader", "2 fields to move", []string{"dry run"}, 1},
	{"and not write", "migrate configmap/a --from old --to ci --as reader --yes", "2 fields to move", []string{`User "reader" cannot patch resource "configmaps"`}, 2},
	{"who may not write gets no dry run", "release configmap/b --field-manager ci --as reader", "", []string{`User "reader" cannot patch resource "configmaps"`}, 2},
	{"who may not read", "release configmap/b --field-manager ci --as nobody", "", []string{`User "nobody" cannot get resource "configmaps"`}, 2},
	{
		"an object cannot be without its template", "release deployment/d --field-manager ci --yes", "",
		[]string{"is invalid: ", "the object is not valid without the fields that ci would give up: move these fields to another manager by kubectl fieldowners migrate --operation Apply"}, 2,
	},
}

// TestPluginTroubles writes nothing at all: each is refused, or has nothing to do.
func TestPluginTroubles(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	allowReading(t, c, namespace, "reader")
	if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Data: map[string]string{"k": "v"}}, client.FieldOwner("old")); err != nil {
		t.Fatal(err)
	}
	ci := client.FieldOwner("ci")
	if err := c.Apply(t.Context(), corev1ac.ConfigMap("b", namespace).WithData(map[string]string{"k": "v"}), ci); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), kit.Deployment("d", namespace, "v1"), ci); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "there"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	versions := func() (all string) {
		for _, kind := range []string{"ConfigMap a", "ConfigMap b", "Deployment d"} {
			kind, name, _ := strings.Cut(kind, " ")
			ref := kit.DeploymentRef(namespace, name)
			if kind == "ConfigMap" {
				ref = kit.RefTo(corev1.SchemeGroupVersion.WithKind(kind), namespace, name)
			}
			all += kit.LiveAt(t, c, ref).GetResourceVersion() + " "
		}
		return all
	}
	before := versions()
	for _, test := range troubles {
		stdout, stderr, code := pluginIn(t, dir, append(strings.Fields(test.args), "-n", namespace)...)
		want := strings.ReplaceAll(test.stdout, "NS", namespace)
		if code != test.code || want == "" && stdout != "" || !strings.Contains(stdout, want) {
			t.Errorf("%s: exit code %d, want %d\n%s\n%s", test.reason, code, test.code, stdout, stderr)
		}
		for _, want := range test.stderr {
			if !strings.Contains(stderr, strings.ReplaceAll(want, "NS", namespace)) {
				t.Errorf("%s: %q is not in\n%s", test.reason, want, stderr)
			}
		}
	}
	if after := versions(); after != before {
		t.Errorf("something was written: resourceVersions %s, before %s", after, before)
	}
	files, _ := os.ReadDir(dir)
	if content, err := os.ReadFile(filepath.Join(dir, "there")); err != nil || string(content) != "mine" || len(files) != 1 {
		t.Errorf("files: %v, %q %v", files, content, err)
	}
}

// TestPluginUndoOfAnotherObject recreates an object between a command and its undo.
func TestPluginUndoOfAnotherObject(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for _, args := range []string{
		"migrate configmap/a --from old --to ci --operation Apply --undo-file undo --as admin --as-group system:masters",
	} {
		dir := t.TempDir()
		ref := kit.RefTo(corev1.SchemeGroupVersion.WithKind("ConfigMap"), namespace, "a")
		create := func() {
			config := corev1ac.ConfigMap("a", namespace).WithData(map[string]string{"k": "v"})
			for _, manager := range []string{"old", "other"} {
				if err := c.Apply(t.Context(), config, client.FieldOwner(manager)); err != nil {
					t.Fatal(err)
				}
			}
		}
		create()
		stdout, stderr, code := pluginIn(t, dir, append(strings.Fields(args), "-n", namespace, "--yes")...)
		commands := undoLines(stdout)
		if code != 0 || len(commands) != 1 || strings.Contains(args, "--as ") != strings.Contains(commands[0], " --as admin --as-group system:masters") {
			t.Fatalf("exit code %d, %s%s", code, stdout, stderr)
		}
		for _, state := range []string{"deleted", "recreated"} {
			if state == "deleted" {
				if err := c.Delete(t.Context(), kit.LiveAt(t, c, ref)); err != nil {
					t.Fatal(err)
				}
			} else {
				create()
			}
			stdout, stderr, code := shell(t, dir, commands[0])
			if code != 2 || stdout != "" || !strings.Contains(stderr, "error: undo: uid mismatch: ConfigMap "+namespace+"/a (uid ") {
				t.Errorf("%s, %s: exit code %d, %s%s", state, commands[0], code, stdout, stderr)
			}
		}
		live := kit.LiveAt(t, c, ref)
		if owners, err := fieldowners.Parse(live.GetManagedFields()); err != nil || len(owners.Entries()) != 2 {
			t.Errorf("the new object was written to: %v", live.GetManagedFields())
		}
		if err := c.Delete(t.Context(), live); err != nil {
			t.Fatal(err)
		}
	}
}
