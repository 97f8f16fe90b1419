package target

import (
	"os"
	"path/filepath"
	"testing"
)

func TestFsyncIsReadFromEtcdsArguments(t *testing.T) {
	for want, all := range map[string][][]string{
		"on":  {nil, {"--data-dir=/x"}, {"--unsafe-no-fsync=false"}},
		"off": {{"--unsafe-no-fsync"}, {"--unsafe-no-fsync=true"}, {"--data-dir=/x", "-unsafe-no-fsync"}},
	} {
		for _, arguments := range all {
			if got := fsyncOf(arguments); got != want {
				t.Errorf("%q: fsync %s; want %s", arguments, got, want)
			}
		}
	}
}

func TestFsyncOfAFolderThatIsNot(t *testing.T) {
	if p50, p99 := measureFsync(t.Context(), filepath.Join(t.TempDir(), "gone")); p50 != nil || p99 != nil {
		t.Errorf("fsync where nothing can be written took %v and %v; want nil", p50, p99)
	}
	folder := t.TempDir()
	p50, p99 := measureFsync(t.Context(), folder)
	if p50 == nil || p99 == nil || *p50 > *p99 {
		t.Errorf("p50 %v, p99 %v; want both, in this order", p50, p99)
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
