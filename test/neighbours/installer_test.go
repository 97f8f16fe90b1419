package neighbours

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// server is an API server of the test's own, without our definitions, and install.yaml.
func server(t *testing.T) (config *rest.Config, installer string) {
	t.Helper()
	s, err := localcluster.StartAPIServer(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	manifests, err := exec.CommandContext(t.Context(), kubectl, "kustomize", kit.File("config", "default")).Output()
	if err != nil {
		t.Fatal(err)
	}
	return s.Config(), string(manifests)
}

// TestInstallerByFlux: Flux installs install.yaml, and finds no drift in what it installed.
func TestInstallerByFlux(t *testing.T) {
	t.Parallel()
	config, installer := server(t)
	c := kit.NewClient(t, config)
	flux := ssa.NewResourceManager(c, polling.NewStatusPoller(c, c.RESTMapper(), polling.Options{}),
		ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	for _, want := range []ssa.Action{ssa.CreatedAction, ssa.UnchangedAction} {
		objects, err := utils.ReadObjects(strings.NewReader(installer))
		if err != nil {
			t.Fatal(err)
		}
		flux.SetOwnerLabels(objects, "platform", "flux-system")
		changed, err := flux.ApplyAllStaged(t.Context(), objects, ssa.DefaultApplyOptions())
		if err != nil {
			t.Fatal(err)
		}
		if len(changed.Entries) != len(objects) {
			t.Errorf("%d of %d objects were applied", len(changed.Entries), len(objects))
		}
		for _, entry := range changed.Entries {
			if entry.Action != want {
				t.Errorf("%s was %s, want %s", entry.Subject, entry.Action, want)
			}
		}
	}
}

// TestInstallerByKubectl: kubectl installs install.yaml in both ways without a warning, and changes nothing the second time.
func TestInstallerByKubectl(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"--server-side", "--server-side=false"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			config, installer := server(t)
			kubeconfig := kit.Kubeconfig(t, config)
			run := func() map[string]string {
				apply := command(t, kubectl, "apply", way, "-f", "-", "--kubeconfig", kubeconfig)
				apply.Stdin = strings.NewReader(installer)
				out, err := apply.CombinedOutput()
				if err != nil || strings.Contains(strings.ToLower(string(out)), "warning") {
					t.Fatalf("%v\n%s", err, out)
				}
				return generations(t, config, installer)
			}
			first := run()
			if diff := cmp.Diff(first, run()); diff != "" {
				t.Errorf("the second time it changed (-before +after):\n%s", diff)
			}
		})
	}
}

// generations returns generation and managed fields of what a manifest has, by kind and name. (The API server writes to the
// status of some.)
func generations(t *testing.T, config *rest.Config, manifest string) map[string]string {
	t.Helper()
	c := kit.NewClient(t, config)
	objects, err := utils.ReadObjects(strings.NewReader(manifest))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, object := range objects {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		fields := slices.DeleteFunc(kit.FieldsBy(t, object.GetManagedFields()), func(line string) bool { return strings.HasPrefix(line, ".status") })
		found[object.GetKind()+" "+object.GetName()] = fmt.Sprint(object.GetGeneration(), fields)
	}
	return found
}

// TestInstallerByHelm: a chart of install.yaml is installed, upgraded and uninstalled.
func TestInstallerByHelm(t *testing.T) {
	needsAll(t, "Helm")
	t.Parallel()
	config, installer := server(t)
	kubeconfig := kit.Kubeconfig(t, config)
	chart := chart(t, "platform", installer)
	for _, args := range [][]string{
		{"install", "platform", chart, "--namespace", "releases", "--create-namespace"},
		{"upgrade", "platform", chart, "--namespace", "releases"},
		{"uninstall", "platform", "--namespace", "releases", "--wait=hookOnly"},
	} {
		folder, err := helm()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := command(t, filepath.Join(folder, "helm"), append(args, "--kubeconfig", kubeconfig)...).CombinedOutput(); err != nil {
			t.Fatalf("helm %v: %v\n%s", args, err, out)
		}
	}
}

// chart writes one with a template, and returns its folder.
func chart(t *testing.T, name, template string) string {
	t.Helper()
	folder := t.TempDir()
	for file, text := range map[string]string{
		"Chart.yaml":              "apiVersion: v2\nname: " + name + "\nversion: 0.1.0\n",
		"values.yaml":             "image: registry.example.com/dev:1\n",
		"templates/template.yaml": template,
	} {
		path := filepath.Join(folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}
