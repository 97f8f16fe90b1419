package target

import (
	"context"
	"os/exec"
	"runtime/debug"
	"strings"
)

// module is the module path of this project.
const module = "coapply.dev"

// commit returns the commit of coapply from which this program was built. For a program that imports the benchmark, it
// returns the version of the imported module. For go run and go test, it asks git for the commit in the current folder.
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
		if dependency.Path == module && dependency.Replace == nil { // a module that is replaced by a folder has no version
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

// checkedOut returns the commit of the checkout in the current folder. It returns "" outside of a checkout of this project.
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
