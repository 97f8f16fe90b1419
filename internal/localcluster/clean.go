package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dustin/go-humanize"
)

// Clean deletes the files of this package in the user's cache folder, and prints the freed space. For each run whose
// starting process has ended, it kills the remaining processes and deletes the run folder. If no cluster is running,
// it also deletes the built binaries of all versions. It does not touch Go's own caches.
func Clean(ctx context.Context, out io.Writer) error {
	owned, err := userFolders()
	if err != nil {
		return err
	}
	running, err := cleanRuns(ctx, owned.runs, out)
	if err != nil {
		return err
	}
	if running > 0 {
		fmt.Fprintf(out, "kept the binaries in %s, because %d running cluster(s) use them; stop the clusters and run clean again\n",
			owned.builds, running)
		return nil
	}
	return cleanBuilds(ctx, owned.builds, out)
}

func cleanRuns(ctx context.Context, runs string, out io.Writer) (running int, err error) {
	l, err := lock(ctx, filepath.Join(runs, "lock"), func() { fmt.Fprintln(out, "waiting for another process that starts or removes a cluster") })
	if err != nil {
		return 0, err
	}
	defer l.Close()
	dirs, running, err := orphans(runs)
	if err != nil {
		return 0, err
	}
	for _, dir := range dirs {
		size := sizeOf(dir)
		if err := reap(ctx, dir); err != nil {
			return 0, err
		}
		fmt.Fprintf(out, "removed %s: %s\n", dir, humanize.IBytes(size))
	}
	return running, nil
}

func cleanBuilds(ctx context.Context, builds string, out io.Writer) error {
	l, err := lock(ctx, filepath.Join(builds, "lock"), func() { fmt.Fprintln(out, "waiting for another process that is building the control plane") })
	if err != nil {
		return err
	}
	defer l.Close()
	entries, err := os.ReadDir(builds)
	if err != nil {
		return fmt.Errorf("looking for built binaries: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(builds, entry.Name())
		size := sizeOf(dir)
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("removing built binaries: %w", err)
		}
		fmt.Fprintf(out, "removed %s: %s\n", dir, humanize.IBytes(size))
	}
	return nil
}

// sizeOf returns the total size of the files in a folder, in bytes. A file that cannot be read, or
// that is deleted while sizeOf runs, is not counted.
func sizeOf(dir string) uint64 {
	var bytes uint64
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return errors.Join(err, fs.SkipDir)
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			bytes += uint64(info.Size())
		}
		return nil
	})
	return bytes
}
