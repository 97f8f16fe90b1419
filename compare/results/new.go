package results

import (
	"errors"
	"io/fs"
)

// CheckNew refuses a path that Create would refuse, without creating anything: so that nobody waits for a cluster first.
func CheckNew(path string) error {
	if err := refuseFull(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
