package localcluster

import (
	"context"
	"fmt"
	"time"

	"github.com/gofrs/flock"
)

// tryLock takes an exclusive lock that the kernel frees however its holder ends, so that a lock
// that can be taken has no living holder. It returns nil without an error if somebody else
// holds the lock.
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

// lock waits for the lock. waiting is called once if somebody else holds it.
func lock(ctx context.Context, path string, waiting func()) (*flock.Flock, error) {
	if l, err := tryLock(path); l != nil || err != nil {
		return l, err
	}
	waiting()
	l := flock.New(path)
	if _, err := l.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", path, err)
	}
	return l, nil
}
