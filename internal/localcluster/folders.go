package localcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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

// Checkout returns the folder of the checkout of coapply that the working directory is in.
func Checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the checkout: %w", err)
	}
	return checkoutAbove(dir)
}

var ourModule = regexp.MustCompile(`(?m)^module coapply\.dev$`)

func checkoutAbove(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && ourModule.Match(content) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: no go.mod of module coapply.dev in %s or above; change into the checkout", ErrNoCheckout, dir)
		}
	}
}
