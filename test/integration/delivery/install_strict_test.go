package delivery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"coapply.dev/internal/localcluster"
	"coapply.dev/test/kit"
)

// TestInstallerIsStrict: each kubectl that was built on this machine applies what make build-installer
// writes, validated strictly and with warnings as errors, and validates every sample so.
func TestInstallerIsStrict(t *testing.T) {
	t.Parallel()
	server, err := localcluster.StartAPIServer(t.Context(), kit.StartLog())
	if err != nil {
		t.Fatal(err)
	}
	kit.OnStop(server.Stop)
	kubectls := builtKubectls(t, server.Config())
	installer := filepath.Join(t.TempDir(), "install.yaml")
	buildInstaller(t, kubectls[0], installer)
	content, err := os.ReadFile(installer)
	if err != nil {
		t.Fatal(err)
	}
	objects := strings.Count(string(content), "\nkind: ")              // in the first column: one a document
	samples, err := filepath.Glob(filepath.Join(samplesDir, "*.yaml")) // each one object, and a kustomization
	if err != nil || len(samples) < 7 {
		t.Fatal("where are the samples?", samples, err)
	}
	for i, kubectl := range kubectls {
		s := strict{server.Config(), kubectl}
		t.Run(filepath.Base(filepath.Dir(kubectl)), func(t *testing.T) {
			if i == 0 { // a dry run makes no namespace for what is in it
				s.apply(t, objects, "-f", installer)
				if out, code := s.run(t, "", "wait", "--for=condition=Established", "crd", "--all", "--timeout=30s"); code != 0 {
					t.Fatal(out)
				}
			}
			s.apply(t, objects, "--dry-run=server", "-f", installer)
			s.apply(t, len(samples)-1, "--dry-run=server", "-k", samplesDir)
			s.refuses(t)
		})
	}
}

// builtKubectls are that of the control plane, and those of other versions beside it.
func builtKubectls(t *testing.T, config *rest.Config) []string {
	t.Helper()
	ours := kit.KubectlCommand(t, config).Path
	all, err := filepath.Glob(filepath.Join(filepath.Dir(filepath.Dir(ours)), "v*", "kubectl"))
	if err != nil {
		t.Fatal(err)
	}
	kubectls, version := []string{ours}, func(path string) string {
		version, _, _ := strings.Cut(filepath.Base(filepath.Dir(path)), "-")
		return version
	}
	seen := map[string]bool{version(ours): true}
	for _, other := range all {
		if !seen[version(other)] {
			kubectls = append(kubectls, other)
		}
		seen[version(other)] = true
	}
	return kubectls
}

// strict is a kubectl that lets nothing pass.
type strict struct {
	config  *rest.Config
	kubectl string
}

// run returns what is printed on both streams.
func (s strict) run(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	command := kit.KubectlCommand(t, s.config, args...)
	command.Path, command.Stdin = s.kubectl, strings.NewReader(stdin)
	stdout, stderr, code := kit.OutputOf(t, command)
	return stdout + stderr, code
}

func (s strict) tryApply(t *testing.T, stdin string, args ...string) (out string, code int) {
	t.Helper()
	return s.run(t, stdin, append([]string{"apply", "--server-side", "--validate=strict", "--warnings-as-errors"}, args...)...)
}

// apply holds that so many objects are applied, and nothing else is said.
func (s strict) apply(t *testing.T, objects int, args ...string) {
	t.Helper()
	out, code := s.tryApply(t, "", args...)
	if applied := strings.Count(out, "serverside-applied"); code != 0 || applied != objects || strings.Count(out, "\n") != objects {
		t.Errorf("%v: exit code %d, %d of %d objects:\n%s", args, code, applied, objects, out)
	}
}

// refuses holds that what is wrong, or warned of, would have been noticed.
func (s strict) refuses(t *testing.T) {
	t.Helper()
	for _, test := range []struct{ manifest, want string }{
		{`{apiVersion: platform.coapply.dev/v1alpha1, kind: Devbox, metadata: {name: x}, spec: {image: a, novelty: 1}}`, "novelty"},
		{`{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: c, image: i}], nodeSelector: {beta.kubernetes.io/os: linux}}}`,
			"1 warning received"},
	} {
		out, code := s.tryApply(t, test.manifest, "--dry-run=server", "-f", "-")
		if code == 0 || !strings.Contains(out, test.want) {
			t.Errorf("%s: exit code %d, want %q:\n%s", test.manifest, code, test.want, out)
		}
	}
}
