package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			": would be configured by ci\n", "dropped:\n  .metadata.annotations.ci: removed, with its value \"yes: really\"\n",
			"  .spec.replicas: 3 -> 1, owned by nobody\n", "  " + sidePath + ".image: removed, with its value \"s\"\n",
			"  .metadata.labels.team: stays, owned by other/Apply\n",
		},
		hides: []string{`containers[name="web"]`},
		gone:  []string{".metadata.annotations.ci", sidePath, `.spec.template.metadata.labels["a.b/c"]`},
	},
	"of-the-status": {
		reason: "each subresource",
		prepare: func(t *testing.T, c client.Client, namespace, name string) {
			sideContainer(t, c, namespace, name)
			statusApplied(t, c, namespace, name)
		},
		shows: []string{"(status): ", `.status.conditions[type="Ready"]`},
		gone:  []string{sidePath, `.status.conditions[type="Ready"]`},
	},
	"of-the-scale": {
		reason: "a replica count that was applied through /scale stays", prepare: scaleApplied,
		shows: []string{"(scale): ci gives up .spec.replicas, whose value stays\n"},
	},
}

// TestPluginRelease looks, and gives up.
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
	owners, _ := ownersAndValues(t, c, ref)
	stdout, stderr, code := pluginIn(t, dir, args...)
	if code != 1 || stderr != "dry run: nothing was written; to write, repeat the command with --yes\n" {
		t.Errorf("dry run: exit code %d, stderr %q", code, stderr)
	}
	checkText(t, stdout, test.shows, test.hides)
	still, _ := ownersAndValues(t, c, ref)
	if diff := cmp.Diff(owners, still); diff != "" {
		t.Errorf("the dry run wrote:\n%s", diff)
	}
	stdout, stderr, code = pluginIn(t, dir, append(args, "--yes")...)
	if code != 0 || stderr != "" || !strings.HasSuffix(stdout, ": the fields of ci are given up\n") {
		t.Fatalf("exit code %d, %q, stderr %q", code, stdout, stderr)
	}
	test.checkGone(t, c, ref)
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

// TestPluginHidesSecrets has no values of a Secret in what migrate and release print.
func TestPluginHidesSecrets(t *testing.T) {
	t.Parallel()
	c := kit.NewClient(t, kit.Server(t))
	namespace := kit.NewNamespace(t, c)
	config := corev1ac.Secret("key", namespace).WithData(map[string][]byte{"password": []byte("hunter2")})
	if err := c.Apply(t.Context(), config, client.FieldOwner("ci")); err != nil {
		t.Fatal(err)
	}
	if err := c.Apply(t.Context(), corev1ac.Secret("key", namespace).WithType("Opaque"), client.FieldOwner("other")); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for _, args := range []string{"migrate secret/key --from ci --operation Apply --to other", "release secret/key --field-manager ci", "release secret/key --field-manager ci --yes"} {
		stdout, stderr, _ := pluginIn(t, t.TempDir(), append(strings.Fields(args), "-n", namespace)...)
		said.WriteString(stdout + stderr)
	}
	if !strings.Contains(said.String(), ".data.password: removed, with its value (hidden)") {
		t.Errorf("what goes is not in %s", &said)
	}
	for _, secret := range []string{"aHVudGVyMg==", "hunter2"} {
		if strings.Contains(said.String(), secret) {
			t.Errorf("%q is in %s", secret, &said)
		}
	}
}
