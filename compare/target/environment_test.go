package target

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"
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

func TestLimits(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("control groups are Linux's")
	}
	for _, test := range []struct {
		files map[string]string
		want  string
	}{
		{nil, ""},
		{map[string]string{"proc/self/cgroup": "0::/\n"}, "none"},
		{map[string]string{
			"proc/self/cgroup":          "1:cpu:/\n0::/a/b\n",
			"sys/fs/cgroup/a/b/cpu.max": "max 100000\n", "sys/fs/cgroup/a/cpu.max": "150000 100000\n",
			"sys/fs/cgroup/a/b/memory.max": "2147483648\n", "sys/fs/cgroup/a/memory.max": "4294967296\n",
		}, "1.5 CPUs, 2.0 GiB"},
		{map[string]string{
			"proc/self/cgroup":                   "1:cpu:/\n",
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, "2 CPUs"},
		{map[string]string{
			"proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, "none"},
	} {
		root := t.TempDir()
		for name, content := range test.files {
			path := filepath.Join(root, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := limits(root); got != test.want {
			t.Errorf("%v: limits %q; want %q", test.files, got, test.want)
		}
	}
}

func TestPercentile(t *testing.T) {
	var took []time.Duration
	for i := range 100 {
		took = append(took, time.Duration(100-i))
	}
	if got := percentile(took, 50); got == nil || *got != 51 {
		t.Errorf("p50 of 1 to 100 is %v; want 51", got)
	}
	if got := percentile(took, 99); got == nil || *got != 100 {
		t.Errorf("p99 of 1 to 100 is %v; want 100", got)
	}
	if got := percentile(nil, 50); got != nil {
		t.Errorf("p50 of nothing is %v; want nil", got)
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
