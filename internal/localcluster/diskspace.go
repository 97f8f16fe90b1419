package localcluster

import (
	"fmt"
	"os"
	"strings"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// goFolders are the folders that the go command fills, by their names in go env.
type goFolders struct {
	Cache   string `json:"GOCACHE"`
	Modules string `json:"GOMODCACHE"`
}

// need is the space that a build needs in one folder.
type need struct {
	what  string
	dir   string
	bytes uint64
}

// checkBuildSpace returns an error if a build would fill the disk minutes later. The numbers
// are those of a build with empty caches on linux/amd64, rounded up; finding out what the
// caches already have would take too long.
func checkBuildSpace(binaries string, env goFolders) error {
	return checkSpace([]need{
		{"the binaries", binaries, 600 << 20},
		{"Go's build cache (GOCACHE)", env.Cache, 3800 << 20},
		{"Go's module cache (GOMODCACHE)", env.Modules, 1200 << 20},
		{"the linker's temporary files (TMPDIR)", os.TempDir(), 2200 << 20},
	}, freeSpace)
}

// checkSpace returns an error if needs on the same file system add up to more than is free.
func checkSpace(needs []need, free func(dir string) (disk uint64, bytes uint64, err error)) error {
	type share struct {
		needed, free uint64
		what         []string
	}
	shares := map[uint64]*share{}
	for _, n := range needs {
		disk, bytes, err := free(n.dir)
		if err != nil {
			return fmt.Errorf("looking for free disk space: %w", err)
		}
		s := shares[disk]
		if s == nil {
			s = &share{free: bytes}
			shares[disk] = s
		}
		s.needed += n.bytes
		s.what = append(s.what, fmt.Sprintf("%s for %s in %s", humanize.IBytes(n.bytes), n.what, n.dir))
		if s.needed > s.free {
			return fmt.Errorf("%w: building the control plane needs %s, and %s are free there",
				ErrDiskSpace, strings.Join(s.what, ", "), humanize.IBytes(s.free))
		}
	}
	return nil
}

// freeSpace returns the free bytes of a folder's file system, and a number that identifies
// that. The folder is created if need be: go would do so, and statfs needs one that exists.
func freeSpace(dir string) (disk, bytes uint64, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, 0, err
	}
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return 0, 0, &os.PathError{Op: "stat", Path: dir, Err: err}
	}
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	//nolint:unconvert // the types of these fields differ between Linux and macOS
	return uint64(stat.Dev), uint64(fs.Bavail) * uint64(fs.Bsize), nil
}
