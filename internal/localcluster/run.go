package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// run is one running control plane. The run folder contains the data, the certificates, the logs, and links to the
// binaries. A process belongs to the run if it was started through one of these links.
type run struct {
	dir   string
	alive *flock.Flock // the file's lock is held while this process runs; if another process can take it, the run is orphaned
	dog   *watchdog
}

// newRun removes orphaned runs, creates a run folder with links to the binaries, and starts the
// watchdog. No process of the run may be started before newRun returns.
func newRun(ctx context.Context, name string, binaries []string, log io.Writer) (*run, error) {
	owned, err := userFolders()
	if err != nil {
		return nil, err
	}
	dir, alive, err := newRunFolder(ctx, owned.runs, name, log)
	if err != nil {
		return nil, err
	}
	r := &run{dir: dir, alive: alive}
	if err := r.prepare(binaries); err != nil {
		_ = alive.Close()
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return r, nil
}

// newRunFolder creates a run folder and locks the file called "alive" in this folder. It holds the lock over all
// runs until the file is locked, so that no other process regards the new folder as orphaned.
func newRunFolder(ctx context.Context, runs, name string, log io.Writer) (string, *flock.Flock, error) {
	l, err := lock(ctx, filepath.Join(runs, "lock"), func() {
		fmt.Fprintln(log, "waiting for another process that is removing old runs")
	})
	if err != nil {
		return "", nil, err
	}
	defer l.Close()
	if err := reapOrphans(ctx, runs, log); err != nil {
		return "", nil, err
	}
	dir, err := os.MkdirTemp(runs, name+"-")
	if err != nil {
		return "", nil, fmt.Errorf("creating the run folder: %w", err)
	}
	alive, err := tryLock(aliveFile(dir))
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, alive, nil
}

func aliveFile(dir string) string { return filepath.Join(dir, "alive") }

func (r *run) prepare(binaries []string) error {
	if err := os.Mkdir(r.binDir(), 0o755); err != nil {
		return fmt.Errorf("preparing the run folder: %w", err)
	}
	for _, path := range binaries {
		if err := os.Symlink(path, filepath.Join(r.binDir(), filepath.Base(path))); err != nil {
			return fmt.Errorf("preparing the run folder: %w", err)
		}
	}
	dog, err := watch(r.dir)
	r.dog = dog
	return err
}

func (r *run) binDir() string { return filepath.Join(r.dir, "bin") }

// binaries returns the links in the run folder. All processes of the run must be started through these links.
func (r *run) binaries() Binaries { return binariesIn(r.binDir()) }

// end kills the processes of the run and deletes the run folder. It waits until both are done, and may be called
// more than once.
func (r *run) end(ctx context.Context) error {
	if err := r.dog.release(ctx); err != nil {
		return fmt.Errorf("stopping the control plane in %s: %w", r.dir, err)
	}
	_ = r.alive.Close()
	return nil
}

// orphans returns the folders of the orphaned runs, whose starting processes have ended, and the number of the other
// runs. The caller must hold the lock over all runs.
func orphans(runs string) (dirs []string, running int, err error) {
	entries, err := os.ReadDir(runs)
	if err != nil {
		return nil, 0, fmt.Errorf("looking for earlier runs: %w", err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		dir := filepath.Join(runs, entry.Name())
		alive, err := tryLock(aliveFile(dir))
		if errors.Is(err, os.ErrNotExist) {
			continue // the run's watchdog has just deleted the folder
		}
		if err != nil {
			return nil, 0, err
		}
		if alive == nil {
			running++
			continue
		}
		_ = alive.Close()
		dirs = append(dirs, dir)
	}
	return dirs, running, nil
}

func reapOrphans(ctx context.Context, runs string, log io.Writer) error {
	dirs, _, err := orphans(runs)
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		fmt.Fprintln(log, "removing the folder and processes of an earlier run:", dir)
		if err := reap(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// tryLock takes an exclusive file lock without waiting. If another process holds the lock, tryLock returns nil and no
// error. The kernel releases the lock of a process that ends for any reason. So if tryLock succeeds, the last holder
// has released the lock or has ended.
func tryLock(path string) (*flock.Flock, error) {
	l := flock.New(path)
	held, err := l.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", path, err)
	case !held:
		return nil, nil
	}
	return l, nil
}

// lock takes an exclusive file lock. If another process holds the lock, lock calls the given function once, and
// waits until the lock is free.
func lock(ctx context.Context, path string, waiting func()) (*flock.Flock, error) {
	if l, err := tryLock(path); l != nil || err != nil {
		return l, err
	}
	waiting()
	l := flock.New(path)
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for the lock %s: %w", path, err)
	}
	return l, nil
}

const loopback = "127.0.0.1"

// The range of ports for the servers of a run. The range is below the ports that Linux uses for outgoing connections by
// default. This package chooses ports from the range at random. If the kernel chose the ports, it would soon give the
// same free port to another process. If kwokctl chose the ports, every cluster would get the same ports.
const (
	firstPort = 20000
	portCount = 10000
)

// freePorts returns distinct ports on loopback on which no process listens.
func freePorts(count int) ([]int, error) {
	var ports []int
	for _, offset := range rand.Perm(portCount) {
		if checkPort(firstPort+offset) == nil {
			ports = append(ports, firstPort+offset)
		}
		if len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("finding %d free ports on loopback: not enough ports are free between %d and %d", count, firstPort, firstPort+portCount)
}

// FreeAddresses returns distinct addresses (host:port) on loopback on which no process listens.
func FreeAddresses(count int) (addresses []string, err error) {
	ports, err := freePorts(count)
	for _, port := range ports {
		addresses = append(addresses, net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	return addresses, err
}

func checkPort(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("%w: port %d on loopback: %w", ErrPortTaken, port, err)
	}
	return listener.Close()
}
