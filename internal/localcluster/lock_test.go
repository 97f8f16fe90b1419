package localcluster

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestLockHasOneHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryLock(path)
	if first == nil || err != nil {
		t.Fatalf("tryLock = %v, %v", first, err)
	}
	if second, err := tryLock(path); second != nil || err != nil {
		t.Errorf("tryLock of a held lock = %v, %v; want nil, nil", second, err)
	}
	waits := 0
	ctx, cancel := context.WithCancel(t.Context())
	_, err = lock(ctx, path, func() { waits++; cancel() })
	if !errors.Is(err, context.Canceled) || waits != 1 {
		t.Errorf("lock = %v after %d notices; want the context's error after one", err, waits)
	}
	third, err := lock(t.Context(), path, func() { _ = first.Close() })
	if third == nil || err != nil {
		t.Fatalf("lock after unlock = %v, %v", third, err)
	}
	_ = third.Close()
}
