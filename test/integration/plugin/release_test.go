package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	autoscalingv1ac "k8s.io/client-go/applyconfigurations/autoscaling/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/test/kit"
)

type releaseCase struct {
	reason  string
	prepare func(*testing.T, client.Client, string, string) // what ci owns of a Deployment of others
	shows   []string
	hides   []string
	gone    []string // paths that the release takes from the object
	undos   int
}

// sideContainer is an item of ci's own, with what the server fills in, and one of its
// ports without the key field that the server fills in as well.
func sideContainer(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	config := appsv1ac.Deployment(name, namespace).WithLabels(map[string]string{"team": "shop"}).WithAnnotations(map[string]string{"ci": "yes: really"}).
		WithSpec(appsv1ac.DeploymentSpec().WithReplicas(3).WithTemplate(corev1ac.PodTemplateSpec().
			WithLabels(map[string]string{"a.b/c": "d"}).
			WithSpec(corev1ac.PodSpec().WithContainers(corev1ac.Container().WithName("side").WithImage("s").
				WithCommand("sh", "-c", "true").WithEnv(corev1ac.EnvVar().WithName("E")).
				WithPorts(corev1ac.ContainerPort().WithContainerPort(81))))))
	if err := c.Apply(t.Context(), config, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
}

func statusApplied(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	config := appsv1ac.Deployment(name, namespace).WithStatus(appsv1ac.DeploymentStatus().WithConditions(
		appsv1ac.DeploymentCondition().WithType("Ready").WithStatus("True").WithReason("R")))
	if err := c.Status().Apply(t.Context(), config, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
}

func scaleApplied(t *testing.T, c client.Client, namespace, name string) {
	t.Helper()
	body := autoscalingv1ac.Scale().WithName(name).WithNamespace(namespace).WithSpec(autoscalingv1ac.ScaleSpec().WithReplicas(1))
	if err := c.SubResource("scale").Apply(t.Context(), appsv1ac.Deployment(name, namespace),
		&client.SubResourceApplyOptions{SubResourceBody: body}, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
}

const sidePath = `.spec.template.spec.containers[name="side"]`

var releaseCases = map[string]releaseCase{
	"alone-and-shared": {
		reason: "a field goes, makes room for the default, or stays with its other owners", prepare: sideContainer,
		shows: []string{
			"to go,", "  go from the object:\n    .metadata.annotations.ci: \"yes: really\"\n",
			"    .spec.replicas: 3 -> 1, owned by nobody\n", "    " + sidePath + ".image: \"s\"\n",
			"  stay:\n    .metadata.labels.team: owned by other/Apply\n",
		},
		hides: []string{`containers[name="web"]`}, undos: 1,
		gone: []string{".metadata.annotations.ci", sidePath, `.spec.template.metadata.labels["a.b/c"]`},
	},
	"of-the-status": {
		reason: "each subresource, in one file", undos: 1,
		prepare: func(t *testing.T, c client.Client, namespace, name string) {
			sideContainer(t, c, namespace, name)
			statusApplied(t, c, namespace, name)
		},
		shows: []string{"(status): ", `.status.conditions[type="Ready"].reason: "R"`},
		gone:  []string{sidePath, `.status.conditions[type="Ready"]`},
	},
	"of-the-status-alone": {
		reason: "the file is of the status alone", prepare: statusApplied, undos: 1,
		shows: []string{"(status): "}, gone: []string{`.status.conditions[type="Ready"]`},
	},
	"of-the-scale": {
		reason: "a replica count that was applied through /scale stays, and no apply restores who owned it", prepare: scaleApplied,
		shows: []string{"(scale): 1 field to give up, 0 to go, 1 to stay\n  stay:\n    .spec.replicas: owned by before-first-apply/Update[scale]\n"},
	},
}

// TestPluginRelease looks, gives up, and takes back with the commands that were
// printed.
func TestPluginRelease(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	for name, test := range releaseCases {
		t.Run(name, func(t *testing.T) {
			base := kit.WithEnv(name, namespace)
			if err := c.Apply(t.Context(), base, client.FieldOwner("other")); err != nil {
				t.Fatal(err)
			}
			test.prepare(t, c, namespace, name)
			test.run(t, c, kit.DeploymentRef(namespace, name))
		})
	}
}

func (test releaseCase) run(t *testing.T, c client.Client, ref apply.ObjectRef) {
	t.Log(test.reason)
	dir := t.TempDir()
	args := []string{"release", "deployment", ref.Name, "-n", ref.Namespace, "--field-manager", "ci"}
	owners, values := ownersAndValues(t, c, ref)
	stdout, stderr, code := pluginIn(t, dir, args...)
	if code != 1 || stderr != "dry run, nothing was written: --yes does it\n" {
		t.Errorf("dry run: exit code %d, stderr %q", code, stderr)
	}
	checkText(t, stdout, test.shows, test.hides)
	still, _ := ownersAndValues(t, c, ref)
	if files, _ := os.ReadDir(dir); len(files) != 0 || !cmp.Equal(owners, still) {
		t.Errorf("the dry run wrote: %v\n%s", files, cmp.Diff(owners, still))
	}
	stdout, stderr, code = pluginIn(t, dir, append(args, "--yes")...)
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d, stderr %q", code, stderr)
	}
	commands := undoLines(stdout)
	files, _ := filepath.Glob(filepath.Join(dir, "undo-release-deployment-"+ref.Name+"-*.json"))
	if len(files) != test.undos || len(commands) != test.undos {
		t.Fatalf("undo files %q, commands %q", files, commands)
	}
	test.checkGone(t, c, ref)
	for _, command := range commands {
		look := strings.TrimSuffix(command, " --yes")
		if stdout, stderr, code := shell(t, dir, look); code != 1 || stderr != "dry run, nothing was written: --yes does it\n" {
			t.Errorf("%s: exit code %d, %q %q", look, code, stdout, stderr)
		}
		for _, result := range []string{": taken back by ci\n", ": nothing to take back: ci owns all of it\n"} {
			if stdout, stderr, code := shell(t, dir, command); code != 0 || stderr != "" || !strings.HasSuffix(stdout, result) {
				t.Errorf("%s: exit code %d, %q %q, want %q", command, code, stdout, stderr, result)
			}
		}
	}
	if test.undos > 0 {
		checkRestored(t, c, ref, owners, values)
	}
}

func (test releaseCase) checkGone(t *testing.T, c client.Client, ref apply.ObjectRef) {
	t.Helper()
	live := kit.LiveAt(t, c, ref)
	for _, path := range test.gone {
		if _, has := fieldowners.MustParsePath(path).Value(live.Object); has {
			t.Errorf("%s is still there", path)
		}
	}
	for _, line := range kit.FieldsBy(t, live.GetManagedFields()) {
		if strings.Contains(line, " ci/Apply") {
			t.Errorf("not given up: %s", line)
		}
	}
}

func checkRestored(t *testing.T, c client.Client, ref apply.ObjectRef, owners []string, values map[string]any) {
	t.Helper()
	after, valuesAfter := ownersAndValues(t, c, ref)
	if diff := cmp.Diff(owners, after); diff != "" {
		t.Errorf("owners after the undo (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(values, valuesAfter); diff != "" {
		t.Errorf("values after the undo (-before +after):\n%s", diff)
	}
}

const secretValue = "aHVudGVyMg==" // hunter2

// TestPluginHidesSecrets has values of a Secret in the undo file only, which nobody
// else can read.
func TestPluginHidesSecrets(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	ref := kit.RefTo(corev1.SchemeGroupVersion.WithKind("Secret"), namespace, "key")
	config := corev1ac.Secret("key", namespace).WithData(map[string][]byte{"password": []byte("hunter2")})
	if err := c.Apply(t.Context(), config, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), corev1ac.Secret("key", namespace).WithType("Opaque"), client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	owners, values := ownersAndValues(t, c, ref)
	var said strings.Builder
	run := func(args ...string) string {
		stdout, stderr, _ := pluginIn(t, dir, append(args, "-n", namespace)...)
		said.WriteString(stdout + stderr)
		return stdout
	}
	run("migrate", "secret/key", "--from", "ci", "--operation", "Apply", "--to", "other")
	run("release", "secret/key", "--field-manager", "ci")
	commands := undoLines(run("release", "secret/key", "--field-manager", "ci", "--yes", "--undo-file", "undo.json"))
	for _, want := range []string{".data.password: (hidden)", "undo file holds values of the Secret"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q is not in %s", want, &said)
		}
	}
	file := filepath.Join(dir, "undo.json")
	content, err := os.ReadFile(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil || info.Mode().Perm() != 0o600 || !strings.Contains(string(content), secretValue) {
		t.Errorf("undo file: %v %v, mode %v", err, statErr, info.Mode())
	}
	run("release", "--undo", "undo.json")
	conflicting := corev1ac.Secret("key", namespace).WithData(map[string][]byte{"password": []byte("other")})
	if err := c.Apply(t.Context(), conflicting, client.FieldOwner("thief")); err != nil {
		t.Fatal(err)
	}
	run("release", "--undo", "undo.json")
	run("release", "--undo", "undo.json", "--yes")
	if !strings.Contains(said.String(), "thief/Apply") {
		t.Errorf("the conflict is not told: %s", &said)
	}
	if err := c.Apply(t.Context(), corev1ac.Secret("key", namespace), client.FieldOwner("thief")); err != nil {
		t.Fatal(err)
	}
	run(strings.Fields(strings.TrimPrefix(commands[0], "kubectl fieldowners "))...)
	checkRestored(t, c, ref, owners, values)
	for _, secret := range []string{secretValue, "hunter2", "b3RoZXI="} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("%q is in %s", secret, &said)
		}
	}
}
