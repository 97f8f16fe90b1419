package ownership

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/test/kit"
)

// TestMigratingMain runs the program of docs/migrating.md, a process for each step.
func TestMigratingMain(t *testing.T) {
	program := filepath.Join(t.TempDir(), "migrate")
	if err := kit.BuildCommands(program, "coapply.dev/examples/migrate"); err != nil {
		t.Fatal(err)
	}
	restConfig := kit.Server(t)
	c := kit.NewClient(t, restConfig)
	namespace := kit.NewNamespace(t, c)
	create := func(name string, labels map[string]string) {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: labels, Annotations: map[string]string{"example.com/team": "shop"},
		}}
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		d.Spec.Template.Labels = map[string]string{"app": name}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: "example.com/web:1"}}
		if err := c.Create(t.Context(), d, client.FieldOwner("manager")); err != nil {
			t.Fatal(err)
		}
	}
	m := migrateProgram{T: t, program: program, config: restConfig, namespace: namespace}

	create("web", map[string]string{"app": "web"})
	m.run("look", "web", true, "shared:", ".metadata.labels.app of manager/Update")
	m.run("migrate", "web", true, "0 to stay")
	if owners := kit.OwnersOf(t, c, namespace, "web", ".spec.replicas"); !cmp.Equal(owners, []string{"example-workload/Apply"}) {
		t.Errorf("replicas are owned by %v", owners)
	}
	for _, want := range []string{"Configured", "Unchanged", "Unchanged"} {
		if said := m.run("apply", "web", true); said != want+"\n" {
			t.Errorf("apply: %q, want %s", said, want)
		}
	}

	for name, test := range map[string]struct {
		labels map[string]string
		paths  []string
		why    string
	}{
		"changes": {map[string]string{"app": "changes", "tier": "front"}, nil, `.metadata.labels.tier: removed "front"`},
		"shares": {map[string]string{"app": "shares"}, []string{".metadata.labels", ".spec"},
			`.metadata.annotations["example.com/team"] would stay shared with manager/Update`},
	} {
		create(name, test.labels)
		before := kit.FieldsBy(t, kit.LiveAt(t, c, kit.DeploymentRef(namespace, name)).GetManagedFields())
		m.paths = test.paths
		m.run("migrate", name, false, "is left as it was", test.why)
		if diff := cmp.Diff(before, kit.FieldsBy(t, kit.LiveAt(t, c, kit.DeploymentRef(namespace, name)).GetManagedFields())); diff != "" {
			t.Errorf("%s: owners (-before +after):\n%s", name, diff)
		}
	}
}

type migrateProgram struct {
	*testing.T

	program   string
	config    *rest.Config
	namespace string
	paths     []string // in place of those of the program
}

// run does one step in a process of its own, which ends with an error unless it is to do well.
func (m migrateProgram) run(step, name string, well bool, says ...string) (stdout string) {
	m.Helper()
	command := exec.CommandContext(m.Context(), m.program, append([]string{step, m.namespace, name}, m.paths...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+kit.Kubeconfig(m, m.config))
	var out, all bytes.Buffer
	command.Stdout, command.Stderr = &out, &all
	err := command.Run()
	all.Write(out.Bytes())
	if (err == nil) != well {
		m.Errorf("%s %s: %v\n%s", step, name, err, &all)
	}
	for _, text := range says {
		if !strings.Contains(all.String(), text) {
			m.Errorf("%s %s does not say %q:\n%s", step, name, text, &all)
		}
	}
	return out.String()
}
