package localcluster

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// folders are the places in the user's cache folder that this package owns.
type folders struct {
	builds string // a folder for each version of the control plane
	runs   string // a folder for each running cluster
}

func userFolders() (folders, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return folders{}, fmt.Errorf("no cache folder for the control plane (set HOME or XDG_CACHE_HOME): %w", err)
	}
	f := folders{
		builds: filepath.Join(cache, "coapply", "controlplane"),
		runs:   filepath.Join(cache, "coapply", "run"),
	}
	for _, dir := range []string{f.builds, f.runs} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return folders{}, fmt.Errorf("creating the cache folder: %w", err)
		}
	}
	return f, nil
}

// findTools returns the tools folder of the checkout that dir is in.
func findTools(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && declaresModule(content, "coapply.dev") {
			return filepath.Join(at, "tools"), nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: no go.mod of module coapply.dev in %s or above; change into the checkout",
				ErrNoCheckout, dir)
		}
	}
}

func declaresModule(goMod []byte, module string) bool {
	for line := range bytes.Lines(goMod) {
		if fields := strings.Fields(string(line)); len(fields) == 2 && fields[0] == "module" {
			return fields[1] == module
		}
	}
	return false
}
