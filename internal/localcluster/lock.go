package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// fileLock is an exclusive lock that the kernel frees when its holder dies, however it dies. That makes a lock which
// can be taken the proof that nobody is behind it any more. (lockedfile of go-internal can neither try nor be
// cancelled.)
type fileLock struct{ file *os.File }

// tryLock returns nil without an error when somebody else holds the lock.
func tryLock(path string) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening a lock: %w", err)
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return &fileLock{file}, nil
	}
	_ = file.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("locking %s: %w", path, err)
}

// lock waits for the lock; waiting is called once if there is something to wait for.
func lock(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	for first := true; ; first = false {
		l, err := tryLock(path)
		if l != nil || err != nil {
			return l, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", path, context.Cause(ctx))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// unlock frees the lock; closing the file is what does it.
func (l *fileLock) unlock() { _ = l.file.Close() }
