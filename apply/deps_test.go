package apply_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The layers of docs/design/architecture.md, held from below: what a package compiles is
// what a user of the library compiles and what a change can break.
func TestDependencies(t *testing.T) {
	below := []string{"coapply.dev/apply/...", "coapply.dev/fieldowners/..."}
	library := append([]string{"coapply.dev"}, below...)
	for _, rule := range []struct {
		reason    string
		field     string // of go list: Imports, or Deps with what is imported indirectly
		packages  []string
		forbidden []string // with everything below them, but for names that end in $
	}{
		{
			reason:    "fieldowners is pure data: the plugin and others use it on files, without a client",
			field:     "Deps",
			packages:  []string{"coapply.dev/fieldowners/..."},
			forbidden: []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "coapply.dev/apply"},
		},
		{
			reason:    "fieldowners is what its folders stand on",
			field:     "Deps",
			packages:  []string{"coapply.dev/fieldowners"},
			forbidden: []string{"coapply.dev/fieldowners/contract", "coapply.dev/internal/command"},
		},
		{
			reason: "applying needs a client, no manager, and reports to an interface. Direct imports " +
				"only: controller-runtime's client package imports Prometheus itself",
			field:    "Imports",
			packages: []string{"coapply.dev/apply"},
			forbidden: []string{
				"github.com/prometheus", "coapply.dev/apply/metrics",
				"sigs.k8s.io/controller-runtime/pkg/manager", "sigs.k8s.io/controller-runtime/pkg/builder",
			},
		},
		{
			reason:    "the code of kube-apiserver is for tests: only applytest compiles it",
			field:     "Deps",
			packages:  []string{"coapply.dev", "coapply.dev/apply", "coapply.dev/apply/reconciler", "coapply.dev/apply/ownership", "coapply.dev/fieldowners/..."},
			forbidden: []string{"go.etcd.io", "k8s.io/apiextensions-apiserver/pkg/apiserver", "k8s.io/apiserver/pkg/registry"},
		},
		{
			reason:   "the library knows nothing of what is built on it",
			field:    "Deps",
			packages: library,
			forbidden: []string{
				"coapply.dev/internal/localcluster", "coapply.dev/compare", "coapply.dev/cmd", "coapply.dev/platform", "coapply.dev/test",
			},
		},
		{
			reason:   "what only commands and the benchmark need is compiled by these alone",
			field:    "Deps",
			packages: library,
			forbidden: []string{
				"github.com/HdrHistogram", "github.com/anishathalye", "github.com/jedib0t", "golang.org/x/perf", "gonum.org",
				"k8s.io/cli-runtime", "github.com/owenrumney", "github.com/dustin", "github.com/gofrs", "github.com/agext",
			},
		},
		{
			reason:    "kubectl is for the plugin; in apply/internal it is for tests",
			field:     "Deps",
			packages:  []string{"coapply.dev", "coapply.dev/apply/ownership", "coapply.dev/apply/applytest", "coapply.dev/apply/metrics"},
			forbidden: []string{"k8s.io/kubectl"},
		},
		{
			reason:    "the front door, package coapply, stands on the rest of the library",
			field:     "Imports",
			packages:  below,
			forbidden: []string{"coapply.dev$"},
		},
		{
			reason:   "apply stands below its own helpers",
			field:    "Deps",
			packages: []string{"coapply.dev/apply"},
			forbidden: []string{"coapply.dev/apply/update", "coapply.dev/apply/reconciler", "coapply.dev/apply/metrics", "coapply.dev/apply/applytest",
				"coapply.dev/apply/ownership", "coapply.dev/apply/applyset"},
		},
	} {
		for _, path := range goList(t, rule.field, rule.packages) {
			if slices.ContainsFunc(rule.forbidden, func(f string) bool { return path == strings.TrimSuffix(f, "$") || strings.HasPrefix(path, f+"/") }) {
				t.Errorf("%v: %s is among its %s: %s", rule.packages, path, rule.field, rule.reason)
			}
		}
	}
}

// What only the benchmark needs stands in its own go.mod: importers of coapply.dev list none of it.
func TestModules(t *testing.T) {
	content, err := os.ReadFile("../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, module := range []string{"gonum.org/", "golang.org/x/perf", "anishathalye/porcupine", "HdrHistogram", "fluxcd", "jedib0t/go-pretty"} {
		if strings.Contains(string(content), module) {
			t.Errorf("go.mod has %s, which only the benchmark needs: compare/go.mod is its own", module)
		}
	}
}

func goList(t *testing.T, field string, packages []string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go",
		append([]string{"list", "-f", `{{join .` + field + ` "\n"}}`}, packages...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	paths := strings.Fields(string(out))
	if len(paths) == 0 {
		t.Fatalf("go list gave no %s of %v", field, packages)
	}
	return paths
}
