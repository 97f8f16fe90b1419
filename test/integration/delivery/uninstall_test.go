package delivery

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/platform/api/v1alpha1"
	"coapply.dev/test/kit"
)

// documented gives the block of docs/install.md that is marked as tested under a name.
func documented(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile("../../../docs/install.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(content), "<!-- tested: "+name+" -->\n```text\n")
	script, _, ended := strings.Cut(after, "```")
	if !found || !ended {
		t.Fatalf("docs/install.md has no block %s", name)
	}
	return script
}

// do runs a block of docs/install.md as a person would, with the kubectl of the
// cluster and our plugin.
func (i *installation) do(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience)
	defer cancel()
	shell := exec.CommandContext(ctx, "/bin/sh", "-c", "kubectl() { "+i.cluster.Binaries().Kubectl+` "$@"; }`+"\n"+documented(t, name))
	shell.Dir, shell.Env = i.dir, i.env
	shell.WaitDelay = time.Second
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// keep takes the platform away from under its workloads. The manager has ended.
func (i *installation) keep(t *testing.T) {
	children := "deployments,statefulsets,services,resourcequotas"
	before := i.kubectl(t, "get", children, "-A", "-l", "app.kubernetes.io/managed-by=coapply", "-o", "name")
	for _, block := range []string{"keep-1", "finalizers", "pods", "keep-2", "keep-3", "pods", "keep-4"} {
		i.do(t, block)
	}
	i.kubectl(t, "delete", "-f", "dist/install.yaml", "--ignore-not-found", "--timeout=60s")
	kit.Absence(t, 3*time.Second, "a garbage collector that finds something")
	if after := i.kubectl(t, "get", children, "-A", "-l", "app.kubernetes.io/managed-by=coapply", "-o", "name"); after != before || before == "" {
		t.Errorf("kept\n%s, of\n%s", after, before)
	}
	var deployments appsv1.DeploymentList
	if err := i.client.List(t.Context(), &deployments); err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		if len(d.OwnerReferences) > 0 || len(d.Spec.Template.Finalizers) > 0 {
			t.Errorf("Deployment %s: owners %v, finalizers of pods %v", d.Name, d.OwnerReferences, d.Spec.Template.Finalizers)
		}
	}
	owners := i.kubectl(t, "get", children, "-A", "--show-managed-fields", "-o", `jsonpath={range .items[*]}{range .metadata.managedFields[?(@.operation=="Apply")]}{.manager}{"\n"}{end}{end}`)
	if strings.Contains(owners, "coapply-") || !strings.Contains(owners, "platform-team") {
		t.Errorf("the fields belong to\n%s", owners)
	}
	i.kubectl(t, "delete", "pods", "--all", "-n", "default", "--timeout=60s") // no finalizer holds them
}

// TestUninstall: everything goes, also where the manager went first.
func TestUninstall(t *testing.T) {
	kit.ForSoak(t)
	t.Parallel()
	i := newInstallation(t, "uninstall")
	i.startManager(t, "--leader-elect-namespace=coapply-system")
	i.applySamples(t)
	i.waitConverged(t)

	i.do(t, "remove") // with the manager, which ends when its account is gone
	i.waitGone(t)

	i.apply(t)
	manager := i.startManager(t, "--leader-elect-namespace=coapply-system")
	i.applySamples(t)
	i.waitConverged(t)
	if err := manager.Cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	i.kubectl(t, "delete", "-f", "dist/install.yaml", "--wait=false")
	kit.WaitFor(t, "the deletion of Devboxes hangs", func() string {
		var box v1alpha1.Devbox
		if err := i.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "running"}, &box); err != nil {
			t.Fatal(err)
		}
		if box.DeletionTimestamp == nil {
			return "it is not being deleted"
		}
		return ""
	})
	for _, block := range []string{"finalizers", "leftovers", "pods"} {
		i.do(t, block)
	}
	i.waitGone(t)
}

// waitGone waits until nothing of ours is left.
func (i *installation) waitGone(t *testing.T) {
	t.Helper()
	kit.WaitFor(t, "everything is gone", func() string {
		left := i.kubectl(t, "get", "crd,clusterroles,clusterrolebindings,validatingadmissionpolicies", "-l", "app.kubernetes.io/part-of=coapply", "-o", "name") +
			i.kubectl(t, "get", "pods,deployments,statefulsets,services,namespaces", "-A", "-l", "app.kubernetes.io/managed-by=coapply", "-o", "name")
		if err := i.client.Get(t.Context(), client.ObjectKey{Name: "coapply-system"}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
			left += "namespace/coapply-system\n"
		}
		return left
	})
}
