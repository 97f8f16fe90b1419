package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

// unfinished is the prefix of the name of a build folder until the build has completed.
const unfinished = "building-"

// Ensure returns the paths of the control plane's binaries, and compiles them first if they are missing.
// Compiling takes minutes; later calls take milliseconds and run no go command. Ensure writes its
// progress: as a bar if progress is a terminal, otherwise as lines. If several processes call Ensure at
// once, one process compiles and the others print that they wait. An interrupted build is never used.
func Ensure(ctx context.Context, progress io.Writer) (Binaries, error) {
	assets := os.Getenv(assetsVariable)
	if assets != "" {
		if err := checkAssets(assets); err != nil {
			return Binaries{}, err
		}
	}
	dir, from, err := chosenBuild()
	if err != nil {
		return Binaries{}, err
	}
	binaries := binariesIn(dir)
	if checkExecutable(binaries.all(), "") != nil {
		if err := ensureBuilt(ctx, dir, from, progress); err != nil {
			return Binaries{}, err
		}
	}
	return binaries.withAssets(assets), nil
}

// chosenBuild returns the source of the Kubernetes version in the environment variable K8S, and the folder for the
// binaries of this version.
func chosenBuild() (dir string, from source, err error) {
	owned, err := userFolders()
	if err != nil {
		return "", source{}, err
	}
	root, err := Checkout()
	if err != nil {
		return "", source{}, err
	}
	if from, err = chosenSource(sourceDir(root), os.Getenv(versionVariable)); err != nil {
		return "", source{}, err
	}
	name, err := from.name()
	return filepath.Join(owned.builds, name), from, err
}

func ensureBuilt(ctx context.Context, dir string, from source, progress io.Writer) error {
	parent := filepath.Dir(dir)
	l, err := lock(ctx, filepath.Join(parent, "lock"), func() {
		fmt.Fprintln(progress, "waiting for another process that is building the control plane")
	})
	if err != nil {
		return err
	}
	defer l.Close()
	problem := checkExecutable(binariesIn(dir).all(), "building the control plane again")
	if problem == nil {
		return nil // another process has built the binaries while this process waited
	}
	if _, err := os.Stat(dir); err == nil {
		fmt.Fprintln(progress, problem)
	}
	if err := removeUnfinished(parent); err != nil {
		return err
	}
	return buildInto(ctx, dir, from, progress)
}

// removeUnfinished removes the folders of incomplete builds. The caller has the build lock, so no
// build is running, and all incomplete builds were interrupted.
func removeUnfinished(parent string) error {
	stale, err := filepath.Glob(filepath.Join(parent, unfinished+"*"))
	if err != nil {
		return fmt.Errorf("looking for abandoned builds: %w", err)
	}
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing an abandoned build: %w", err)
		}
	}
	return nil
}

// buildInto compiles in a temporary folder and renames this folder to dir at the end. So if dir
// exists, its build is complete.
func buildInto(ctx context.Context, dir string, from source, progress io.Writer) (err error) {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), unfinished)
	if err != nil {
		return fmt.Errorf("creating the build folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	program := filepath.Join(temporary, "controlplane")
	if err := compile(ctx, program, from, progress); err != nil {
		return err
	}
	for _, link := range binariesIn(temporary).all() {
		if err := os.Symlink(filepath.Base(program), link); err != nil {
			return fmt.Errorf("%w: %w", ErrBuild, err)
		}
	}
	if err := os.Chmod(temporary, 0o755); err != nil {
		return fmt.Errorf("%w: %w", ErrBuild, err)
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing an incomplete build: %w", err)
	}
	if err := os.Rename(temporary, dir); err != nil {
		return fmt.Errorf("%w: %w", ErrBuild, err)
	}
	return nil
}

// folders are the paths in the user's cache folder that this package uses.
type folders struct {
	builds string // contains a folder for each version of the control plane
	runs   string // contains a folder for each running cluster
}

func userFolders() (folders, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return folders{}, fmt.Errorf("finding the user's cache folder for the control plane (set HOME or XDG_CACHE_HOME): %w", err)
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

// Checkout returns the root folder of the coapply checkout that contains the working directory.
func Checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
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
