package plugin

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/test/kit"
)

// pluginIn runs kubectl fieldowners in a folder.
func pluginIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := kit.KubectlCommand(t, kit.Server(t), append([]string{"fieldowners"}, args...)...)
	command.Dir = dir
	return kit.OutputOf(t, command)
}

// shell runs a command line that the plugin printed, as a person would.
func shell(t *testing.T, dir, line string) (stdout, stderr string, code int) {
	t.Helper()
	words := strings.Fields(line)
	if len(words) < 2 || words[0] != "kubectl" {
		t.Fatalf("%q is no command line of kubectl", line)
	}
	command := kit.KubectlCommand(t, kit.Server(t), words[1:]...)
	command.Dir = dir
	return kit.OutputOf(t, command)
}

// undoLines are the commands that an output says undo it.
func undoLines(stdout string) (lines []string) {
	for line := range strings.Lines(stdout) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "kubectl ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// ownersAndValues is everything that an undo has to restore.
func ownersAndValues(t *testing.T, c client.Client, ref apply.ObjectRef) (owners []string, values map[string]any) {
	t.Helper()
	live := kit.LiveAt(t, c, ref)
	owners = kit.FieldsBy(t, live.GetManagedFields())
	values = kit.WithoutManagedFields(live)
	delete(values["metadata"].(map[string]any), "generation")
	return owners, values
}

type migrateCase struct {
	reason  string
	prepare func(*testing.T, client.Client, apply.ObjectRef)
	args    []string // behind TYPE/NAME
	shows   []string // of stdout
	hides   []string
	stderr  string // of the dry run
	owners  map[string]string
}

func statusAs(manager string) func(*testing.T, client.Client, apply.ObjectRef) {
	return func(t *testing.T, c client.Client, ref apply.ObjectRef) {
		object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
		patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"replicas":1}}`))
		if err := c.Status().Patch(t.Context(), object, patch, client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
}

func applyAs(manager string) func(*testing.T, client.Client, apply.ObjectRef) {
	return func(t *testing.T, c client.Client, ref apply.ObjectRef) {
		if err := c.Apply(t.Context(), kit.Deployment(ref.Name, ref.Namespace, "v1"), client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
}

var migrateCases = map[string]migrateCase{
	"kubectl": {
		reason: "the plain way from client-side kubectl apply",
		args:   []string{"--from", kit.ClientSide, "--to", "ci"},
		shows: []string{kit.ClientSide + "/Update -> ci/Apply:\n", "    .spec.replicas\n", "stay with " + kit.ClientSide + "/Update:",
			`.metadata.annotations["kubectl.kubernetes.io/last-applied-configuration"]`},
		owners: map[string]string{".spec.replicas": "ci/Apply", ".metadata.labels.team": "ci/Apply"},
	},
	"status": {
		reason: "the status for itself", prepare: statusAs(kit.ClientSide),
		args:   []string{"--from", kit.ClientSide, "--to", "ci"},
		shows:  []string{kit.ClientSide + "/Update[status] -> ci/Apply[status]:\n    .status.replicas\n"},
		owners: map[string]string{".status.replicas": "ci/Apply[status]"},
	},
	"owned-by-both": {
		reason: "what the receiver owned before stays with it after the undo", prepare: applyAs("ci"),
		args:   []string{"--from", kit.ClientSide, "--to", "ci"},
		shows:  []string{"    .spec.template.metadata.labels.app (both managers own the field now)\n", "    .metadata.labels.team\n"},
		owners: map[string]string{".spec.replicas": "ci/Apply", ".spec.template.metadata.labels.app": "ci/Apply"},
	},
	"rename": {
		reason: "a manager gets another name", prepare: applyAs("ci-v1"),
		args:   []string{"--from", "ci-v1", "--to", "ci", "--operation", "apply"},
		shows:  []string{"ci-v1/Apply -> ci/Apply:"},
		hides:  []string{".metadata.labels.team"},
		owners: map[string]string{".spec.template.metadata.labels.app": "ci/Apply kubectl-client-side-apply/Update"},
	},
	"several": {
		reason: "two managers become one",
		prepare: func(t *testing.T, c client.Client, ref apply.ObjectRef) {
			applyAs("a")(t, c, ref)
			applyAs("b")(t, c, ref)
		},
		args:   []string{"--from", "a,b", "--to", "ci", "--operation", "Apply"},
		shows:  []string{"a/Apply -> ci/Apply:", "b/Apply -> ci/Apply:"},
		owners: map[string]string{".spec.template.metadata.labels.app": "ci/Apply kubectl-client-side-apply/Update"},
	},
	"split": {
		reason: "one field of a list item; the item is shared then", prepare: applyAs("ci"),
		args: []string{"--from", "ci", "--to", "images", "--operation", "Apply", "--path",
			`.spec.template.spec.containers[name="web"].image`, "--path", ".spec.nowhere"},
		shows:  []string{`.spec.template.spec.containers[name="web"].name (shared: both managers own the field afterwards)`, `containers[name="web"].image` + "\n"},
		hides:  []string{".spec.template.metadata.labels.app"},
		stderr: "warning: Deployment %/split: ci/Apply owns no field at or below .spec.nowhere\n",
		owners: map[string]string{`.spec.template.spec.containers[name="web"].image`: "images/Apply kubectl-client-side-apply/Update", ".spec.template.metadata.labels.app": "ci/Apply kubectl-client-side-apply/Update"},
	},
}

// TestPluginMigrate looks, moves, and undoes with the command that was printed.
func TestPluginMigrate(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range migrateCases {
		t.Run(name, func(t *testing.T) {
			ref := kit.DeploymentRef(namespace, name)
			kit.CreateClientSide(t, c, kit.WithEnv(name, namespace), &appsv1.Deployment{})
			if test.prepare != nil {
				test.prepare(t, c, ref)
			}
			test.run(t, c, ref)
		})
	}
}

var undoFileName = regexp.MustCompile(`^undo-migrate-deployment-[a-z-]+-\d+\.json$`)

func (test migrateCase) run(t *testing.T, c client.Client, ref apply.ObjectRef) {
	t.Log(test.reason)
	dir := t.TempDir()
	args := append([]string{"migrate", "deployment/" + ref.Name, "-n", ref.Namespace}, test.args...)
	owners, values := ownersAndValues(t, c, ref)

	stdout, stderr, code := pluginIn(t, dir, args...)
	warning := strings.ReplaceAll(test.stderr, "%", ref.Namespace)
	if code != 1 || stderr != warning+"dry run: nothing was written; to write, repeat the command with --yes\n" {
		t.Errorf("dry run: exit code %d, stderr %q", code, stderr)
	}
	checkText(t, stdout, test.shows, test.hides)
	still, _ := ownersAndValues(t, c, ref)
	if files, _ := os.ReadDir(dir); len(files) != 0 || !cmp.Equal(owners, still) {
		t.Errorf("the dry run wrote: %v\n%s", files, cmp.Diff(owners, still))
	}

	stdout, stderr, code = pluginIn(t, dir, append(args, "--yes")...)
	if code != 0 || stderr != warning {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	checkText(t, stdout, append(test.shows, " moved; to undo it:\n"), test.hides)
	_, moved := ownersAndValues(t, c, ref)
	if diff := cmp.Diff(values, moved); diff != "" {
		t.Errorf("values changed:\n%s", diff)
	}
	for path, want := range test.owners {
		if got := strings.Join(kit.OwnersOf(t, c, ref.Namespace, ref.Name, path), " "); got != want {
			t.Errorf("%s is owned by %s, want %s", path, got, want)
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 1 || !undoFileName.MatchString(filepath.Base(files[0])) {
		t.Fatalf("files: %v", files)
	}
	undoes(t, dir, c, ref, undoLines(stdout), owners, values)
}

// undoes runs the one command that undoes a migrate: shown first, done, and once more.
func undoes(t *testing.T, dir string, c client.Client, ref apply.ObjectRef, commands, owners []string, values map[string]any) {
	t.Helper()
	if len(commands) != 1 {
		t.Fatalf("commands to undo: %q", commands)
	}
	look := strings.TrimSuffix(commands[0], " --yes")
	stdout, stderr, code := shell(t, dir, look)
	if code != 1 || !strings.Contains(stdout, " to move") || !strings.HasPrefix(stderr, "dry run") {
		t.Errorf("looking at the undo: exit code %d, %q %q", code, stdout, stderr)
	}
	if stdout, stderr, code := shell(t, dir, commands[0]); code != 0 || stderr != "" || !strings.HasSuffix(stdout, " given back\n") {
		t.Errorf("undo: exit code %d, %q %q", code, stdout, stderr)
	}
	after, valuesAfter := ownersAndValues(t, c, ref)
	if diff := cmp.Diff(owners, after); diff != "" {
		t.Errorf("owners after the undo (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(values, valuesAfter); diff != "" {
		t.Errorf("values after the undo (-before +after):\n%s", diff)
	}
	for _, again := range []string{look, commands[0]} {
		if stdout, stderr, code := shell(t, dir, again); code != 0 || stderr != "" || !strings.Contains(stdout, "nothing to give back") {
			t.Errorf("%s once more: exit code %d, %q %q", again, code, stdout, stderr)
		}
	}
}

func checkText(t *testing.T, text string, shows, hides []string) {
	t.Helper()
	for _, want := range shows {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	for _, secret := range hides {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in\n%s", secret, text)
		}
	}
}
