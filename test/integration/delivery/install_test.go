package delivery

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/platform/controllers"
	"coapply.dev/test/kit"
)

// installation is a control plane on which make build-installer's file was applied,
// and a person's shell.
type installation struct {
	cluster *localcluster.Cluster
	client  client.Client // the administrator's
	dir     string        // with dist/install.yaml
	env     []string
}

func newInstallation(t *testing.T, name string) *installation {
	t.Helper()
	c, err := localcluster.Start(t.Context(), localcluster.Options{Name: name, Nodes: 2, Log: kit.StartLog()})
	if err != nil {
		t.Fatal(err)
	}
	kit.OnStop(c.Stop)
	command := kit.KubectlCommand(t, c.Config())
	i := &installation{cluster: c, client: kit.NewClient(t, c.Config()), dir: t.TempDir(), env: command.Env}
	if err := os.Mkdir(filepath.Join(i.dir, "dist"), 0o755); err != nil {
		t.Fatal(err)
	}
	buildInstaller(t, command.Path, filepath.Join(i.dir, "dist", "install.yaml"))
	i.apply(t)
	return i
}

// buildInstaller has make write the file, with a kubectl.
func buildInstaller(t *testing.T, kubectl, file string) {
	t.Helper()
	build := exec.CommandContext(t.Context(), "make", "-C", kit.File(), "build-installer", "IMG=example.com:5000/coapply-manager:v1",
		"VERSION=v1", "KUBECTL="+kubectl, "INSTALLER="+file)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("make build-installer: %v\n%s", err, out)
	}
}

func (i *installation) apply(t *testing.T) {
	t.Helper()
	if out := i.kubectl(t, "apply", "--server-side", "-f", "dist/install.yaml"); strings.Contains(out, "Warning") {
		t.Errorf("the installation warns:\n%s", out)
	}
	i.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=10m")
}

// kubectl gives what it prints on both streams.
func (i *installation) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
	defer cancel()
	command := exec.CommandContext(ctx, i.cluster.Binaries().Kubectl, args...)
	command.Dir, command.Env = i.dir, i.env
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// startManager runs the manager beside the cluster, whose pods are simulated ones,
// with a token of exactly the service account that was installed.
func (i *installation) startManager(t *testing.T, args ...string) *kit.Process {
	t.Helper()
	probes := kit.FreeAddress(t)
	p := kit.StartManager(t, kit.Kubeconfig(t, i.asManager(t)), append([]string{"--metrics-bind-address=0", "--health-probe-bind-address", probes}, args...)...)
	kit.WaitFor(t, "ready", func() string { return kit.Ready(probes) })
	return p
}

func (i *installation) asManager(t *testing.T) *rest.Config {
	t.Helper()
	config := rest.AnonymousClientConfig(i.cluster.Config())
	config.BearerToken = token(t, i.client, client.ObjectKey{Namespace: "coapply-system", Name: "coapply-manager"})
	return config
}

// checkSchemas: without the right to read the server's schemas, the manager would go on
// sending what changes nothing, and nobody would see why.
func (i *installation) checkSchemas(t *testing.T) {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(i.asManager(t))
	if err != nil {
		t.Fatal(err)
	}
	paths, err := server.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"apis/apps/v1", "apis/" + v1alpha1.SchemeGroupVersion.String()} {
		if group, ok := paths[path]; !ok {
			t.Errorf("there is no %s among the schemas", path)
		} else if _, err := group.Schema("application/json"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var samplesDir = kit.File("config", "samples")

// applySamples applies each by itself.
func (i *installation) applySamples(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(samplesDir, "*_*.yaml"))
	if err != nil || len(files) < 3 {
		t.Fatal("where are the samples?", files, err)
	}
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		i.kubectl(t, "apply", "-f", path)
	}
}

// ours lists every object of our kinds.
func (i *installation) ours(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var all []unstructured.Unstructured
	for _, kind := range []string{"Devbox", "License", "NodeMaintenance", "NodeSet", "SlurmController", "User"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(kind + "List"))
		if err := i.client.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		all = append(all, list.Items...)
	}
	return all
}

// waitConverged waits until each object says in its status that it is as wanted.
func (i *installation) waitConverged(t *testing.T) {
	t.Helper()
	kit.WaitFor(t, "everything converges", func() string {
		var missing []string
		for _, object := range i.ours(t) {
			if unmet := unmetConditions(object.Object); unmet != "" {
				missing = append(missing, object.GetKind()+" "+object.GetName()+": "+unmet)
			}
		}
		return strings.Join(missing, "\n")
	})
}

// unmetConditions looks at those that say whether what is emitted stands, whether the
// work is done, and whether it is ready.
func unmetConditions(object map[string]any) string {
	conditions, _, _ := unstructured.NestedSlice(object, "status", "conditions")
	if len(conditions) == 0 {
		return "no conditions"
	}
	for _, c := range conditions {
		condition, _ := c.(map[string]any)
		kind, _ := condition["type"].(string)
		if (strings.HasSuffix(kind, "Applied") || kind == "Ready" || kind == "Complete") && condition["status"] != "True" {
			return fmt.Sprint(condition)
		}
	}
	return ""
}

// TestInstall: what make build-installer writes is all that the manager needs, and
// enough for each sample.
func TestInstall(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	i := newInstallation(t, "install")
	kit.WaitFor(t, "its pods pass the restricted pod security standard", func() string {
		var d appsv1.Deployment
		if err := i.client.Get(t.Context(), client.ObjectKey{Namespace: "coapply-system", Name: "coapply-manager"}, &d); err != nil {
			return err.Error()
		}
		if d.Status.AvailableReplicas != 2 || d.Spec.Template.Spec.Containers[0].Image != "example.com:5000/coapply-manager:v1" {
			return fmt.Sprintf("%v of %s", d.Status, d.Spec.Template.Spec.Containers[0].Image)
		}
		return ""
	})
	manager := i.startManager(t, "--leader-elect-namespace=coapply-system")
	i.checkSchemas(t)
	i.applySamples(t)
	i.waitConverged(t)
	i.checkWarnings(t)
	manager.Stop(t)
	checkLog(t, manager)
	t.Run("upgrade", i.upgrade)
	t.Run("side by side", i.sideBySide)
	t.Run("keep the workloads", i.keep)
}

// checkLog looks for rights that are missing and reconcilers that did not start. The
// process has ended.
func checkLog(t *testing.T, p *kit.Process) {
	t.Helper()
	log := p.Stderr.String()
	for line := range strings.Lines(log) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("the manager lacks a right: %s", line)
		}
	}
	for _, c := range controllers.All() {
		if !strings.Contains(log, fmt.Sprintf(`"msg":"Starting workers","controller":%q`, c.Name)) {
			t.Errorf("no workers of %s were started", c.Name)
		}
	}
}

// checkWarnings looks for events about what is forbidden.
func (i *installation) checkWarnings(t *testing.T) {
	t.Helper()
	events := i.kubectl(t, "get", "events.events.k8s.io", "-A", "-o", `jsonpath={range .items[?(@.type=="Warning")]}{.reason} {.regarding.name}: {.note}{"\n"}{end}`)
	for line := range strings.Lines(events) {
		if strings.Contains(strings.ToLower(line), "forbidden") {
			t.Errorf("a warning: %s", line)
		}
	}
}
