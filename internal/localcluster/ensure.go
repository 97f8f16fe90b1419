package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// unfinished starts the names of folders that a build has not completed.
const unfinished = "building-"

// Ensure returns the control plane's binaries and compiles them first if need be: minutes the first time on a machine,
// milliseconds and no go command afterwards. What it does goes to progress: a bar on a terminal, a line now and then
// elsewhere. Processes that ask at once build once; the others wait and say so. A build that is interrupted leaves
// nothing that a later one would take for complete.
func Ensure(ctx context.Context, progress io.Writer) (Binaries, error) {
	assets := os.Getenv(assetsVariable)
	if assets != "" {
		if err := checkAssets(assets); err != nil {
			return Binaries{}, err
		}
	}
	dir, builds, err := versionedFolder()
	if err != nil {
		return Binaries{}, err
	}
	binaries := binariesIn(dir)
	if checkExecutable(binaries.all(), "") != nil {
		if err := ensureBuilt(ctx, dir, builds, progress); err != nil {
			return Binaries{}, err
		}
	}
	return binaries.withAssets(assets), nil
}

// versionedFolder says where the binaries of this checkout belong and how to build them.
func versionedFolder() (string, []toolBuild, error) {
	owned, err := userFolders()
	if err != nil {
		return "", nil, err
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", nil, fmt.Errorf("finding the checkout: %w", err)
	}
	tools, err := findTools(wd)
	if err != nil {
		return "", nil, err
	}
	kubernetes, err := requiredVersion(filepath.Join(tools, "cluster", "go.mod"), "k8s.io/kubernetes")
	if err != nil {
		return "", nil, err
	}
	builds := toolBuilds(tools, kubernetes)
	name, err := versionedName(kubernetes, builds)
	return filepath.Join(owned.builds, name), builds, err
}

func ensureBuilt(ctx context.Context, dir string, builds []toolBuild, progress io.Writer) error {
	parent := filepath.Dir(dir)
	l, err := lock(ctx, filepath.Join(parent, "lock"), func() {
		fmt.Fprintln(progress, "another process is building the control plane: waiting for it")
	})
	if err != nil {
		return err
	}
	defer l.Close()
	problem := checkExecutable(binariesIn(dir).all(), "building it again")
	if problem == nil {
		return nil // somebody else built it while we waited
	}
	if _, err := os.Stat(dir); err == nil {
		fmt.Fprintln(progress, problem)
	}
	if err := removeUnfinished(parent); err != nil {
		return err
	}
	return buildInto(ctx, dir, builds, progress)
}

// removeUnfinished is called with the lock held: nobody is building, so every unfinished folder was abandoned.
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

// buildInto builds beside dir and renames at the end: dir is there completely or not at all.
func buildInto(ctx context.Context, dir string, builds []toolBuild, progress io.Writer) (err error) {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), unfinished)
	if err != nil {
		return fmt.Errorf("creating the build folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	if err := compile(ctx, temporary, builds, progress); err != nil {
		return err
	}
	// etcd's main package is the folder "server", and go build names a binary after its folder.
	if err := os.Rename(filepath.Join(temporary, "server"), filepath.Join(temporary, "etcd")); err != nil {
		return fmt.Errorf("%w: %w", ErrBuild, err)
	}
	if err := checkExecutable(binariesIn(temporary).all(), "the tools modules do not name it"); err != nil {
		return err
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
