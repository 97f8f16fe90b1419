package target

import (
	"context"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
)

// module is the path of this project's.
const module = "coapply.dev"

// takePart are the modules whose code runs in a trial or reckons with what it measured.
var takePart = []string{
	"github.com/HdrHistogram/hdrhistogram-go", "github.com/anishathalye/porcupine", "golang.org/x/net", "golang.org/x/perf",
	"gonum.org/v1/gonum", "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "sigs.k8s.io/controller-runtime",
	"sigs.k8s.io/structured-merge-diff/v4", "sigs.k8s.io/structured-merge-diff/v6",
}

// modules are versions as the go command recorded them in this program.
func modules() map[string]string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	versions := map[string]string{}
	for _, dependency := range info.Deps {
		if slices.Contains(takePart, dependency.Path) {
			versions[dependency.Path] = dependency.Version
		}
	}
	return versions
}

// commit of coapply that this program was built from. A program of others' that imports the benchmark has a version of
// it; go run and go test record nothing, so there the checkout is asked.
func commit(ctx context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	if revision := settings["vcs.revision"]; revision != "" && strings.HasPrefix(info.Main.Path, module) {
		return withChanges(revision, settings["vcs.modified"] == "true")
	}
	for _, dependency := range info.Deps {
		if dependency.Path == module && dependency.Replace == nil { // a folder has no version
			return dependency.Version
		}
	}
	return checkedOut(ctx)
}

func withChanges(revision string, changed bool) string {
	if changed {
		return revision + "+changes"
	}
	return revision
}

// checkedOut is "" outside of a checkout of this project.
func checkedOut(ctx context.Context) string {
	if path, err := exec.CommandContext(ctx, "go", "list", "-m").Output(); err != nil || !strings.HasPrefix(string(path), module) {
		return ""
	}
	revision, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output()
	if err != nil {
		return ""
	}
	return withChanges(strings.TrimSpace(string(revision)), len(changes) > 0)
}
