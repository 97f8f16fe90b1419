package target

import (
	"context"
	"os"
	"slices"
	"time"
)

// measureFsync returns percentiles of the time to append 4 KiB to a file and flush the file to disk, as a write-ahead log
// does. The file is in the given folder, beside etcd's data. If the measurement fails or ctx ends, the results are nil.
func measureFsync(ctx context.Context, folder string) (p50, p99 *time.Duration) {
	file, err := os.CreateTemp(folder, "fsync-")
	if err != nil {
		return nil, nil
	}
	defer func() { _ = os.Remove(file.Name()) }() // no problem if this fails: the folder is deleted later
	defer file.Close()
	block := make([]byte, 4096)
	var took []time.Duration
	for range 100 {
		begin := time.Now()
		if _, err := file.Write(block); err != nil || ctx.Err() != nil {
			return nil, nil
		}
		if err := file.Sync(); err != nil {
			return nil, nil
		}
		took = append(took, time.Since(begin))
	}
	slices.Sort(took)
	return &took[50], &took[99]
}
