package measure

import (
	"fmt"
	"strings"
	"time"
)

// Markdown is the report as docs/performance.md has it.
func (r Report) Markdown() string {
	var out strings.Builder
	fmt.Fprint(&out, "# Performance\n\nWritten by `make bench`, which measures all of it again: see "+
		"[benchmarking.md](benchmarking.md).\n\n")
	if r.Quick {
		fmt.Fprint(&out, "This was a quick run: one short round, to see that everything runs. Its numbers say nothing.\n\n")
	}
	fmt.Fprintf(&out, "%s\n\n", r.table().RenderMarkdown())
	if losses := r.losses(); losses != "" {
		fmt.Fprintf(&out, "%s\n\n", losses)
	}
	fmt.Fprint(&out, legend)
	fmt.Fprint(&out, "\n## Environment\n\n| | |\n|---|---|\n")
	for _, line := range r.environment() {
		fmt.Fprintf(&out, "| %s | %s |\n", line[0], line[1])
	}
	return out.String()
}

const legend = "\"met\" says whether the median keeps the aim, only what must be, or neither (\"no\"). Values are the " +
	"median of the\nrounds, in brackets the least and the greatest round. What is said in times is the ratio of two " +
	"trials of one round,\nwhich run in random order; the median is that of the ratios.\n"

func (r Report) environment() [][2]string {
	e := r.Environment
	lines := [][2]string{
		{"Date", r.Started.UTC().Format(time.DateOnly)},
		{"Commit", e.Commit},
		{"Command", "`" + r.Command + "`"},
		{"Rounds, time", fmt.Sprintf("%d, %s", r.Rounds, r.Took.Round(time.Second))},
		{"CPU", fmt.Sprintf("%s, %d cores", e.CPU, e.Cores)},
		{"Memory", fmt.Sprintf("%.1f GiB", float64(e.Memory)/(1<<30))},
		{"System", e.OS + ", kernel " + e.Kernel},
		{"Go", e.Go},
		{"Kubernetes, etcd", e.Server + ", " + e.Etcd + ", on the same machine"},
		{"fsync of etcd", e.EtcdFsync + fsync(e.FsyncP50)},
		{"User", fmt.Sprintf("%s, no rate limit of the client's, %s", e.User, e.Encoding)},
	}
	for i := range lines {
		if lines[i][1] == "" {
			lines[i][1] = "n/a"
		}
	}
	return lines
}

func fsync(p50 *time.Duration) string {
	if p50 == nil {
		return ""
	}
	return fmt.Sprintf(", a write of 4 KiB takes %s", p50.Round(10*time.Microsecond))
}
