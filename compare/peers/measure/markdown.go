package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// Markdown returns the report as the content of docs/performance.md.
func (r Report) Markdown() string {
	var out strings.Builder
	fmt.Fprint(&out, "# Performance\n\nThis file is written by `make bench`, which repeats all measurements: see "+
		"[benchmarking.md](benchmarking.md).\n\n")
	if r.Quick {
		fmt.Fprint(&out, "This was a quick run: one short round, to test that everything works. Its numbers are meaningless.\n\n")
	}
	fmt.Fprint(&out, legend)
	for rest := r.Rows; len(rest) > 0; {
		n := ofOneSeries(rest)
		fmt.Fprintf(&out, "%s\n\n", markdownOf(rest[:n]))
		rest = rest[n:]
	}
	if losses := r.losses(); losses != "" {
		fmt.Fprintf(&out, "%s\n\n", losses)
	}
	fmt.Fprint(&out, "## Environment\n\n| | |\n|---|---|\n")
	for _, line := range r.environment() {
		fmt.Fprintf(&out, "| %s | %s |\n", line[0], line[1])
	}
	return out.String()
}

// ofOneSeries returns the number of leading rows that have the same Series.
func ofOneSeries(rows []Row) int {
	n := slices.IndexFunc(rows, func(r Row) bool { return r.Series != rows[0].Series })
	if n < 0 {
		return len(rows)
	}
	return n
}

// markdownOf returns a table of rows that belong to one series, with the title of the series above it.
func markdownOf(rows []Row) string {
	first := rows[0]
	if first.Series == "" {
		return tableOf(rows).RenderMarkdown()
	}
	shown := besidePeers
	if first.Column != "" {
		shown = gridOf
	}
	bounds := fmt.Sprintf("must: %s, aim: %s", first.Must.text(first.Unit), first.Aim.text(first.Unit))
	return fmt.Sprintf("**%s** (%s)\n\n%s", first.Series, bounds, shown(rows).RenderMarkdown())
}

func besidePeers(rows []Row) table.Writer {
	t := table.NewWriter()
	header := table.Row{"", "measured", "met"}
	for _, peer := range rows[0].Peers {
		header = append(header, peer.Name)
	}
	t.AppendHeader(header)
	for _, row := range rows {
		shown := table.Row{row.Measure, spread(row.Unit, row.Rounds), row.Met()}
		for _, peer := range row.Peers {
			shown = append(shown, spread(peer.Unit, peer.Rounds))
		}
		t.AppendRow(shown)
	}
	return t
}

// gridOf returns a grid. Each Row is one cell, in the line Measure and the column Column, and is shown with its first peer.
func gridOf(rows []Row) table.Writer {
	t := table.NewWriter()
	header := table.Row{""}
	for _, row := range rows {
		if row.Measure == rows[0].Measure {
			header = append(header, row.Column)
		}
	}
	t.AppendHeader(header)
	for line := range slices.Chunk(rows, len(header)-1) {
		shown := table.Row{line[0].Measure}
		for _, row := range line {
			shown = append(shown, fmt.Sprintf("%s %s, %s", spread(row.Unit, row.Rounds), row.Met(), row.Peers[0].text()))
		}
		t.AppendRow(shown)
	}
	return t
}

const legend = "\"met\" says whether the median reaches the aim, only the must, or neither (\"no\"). Values are the median of the " +
	"rounds, in brackets the least and\nthe greatest. A ratio compares two trials of one round. \"+5ms\" is a round trip that is " +
	"added to each request.\n\n"

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
		{"User", fmt.Sprintf("%s, no client-side rate limit, %s", e.User, e.Encoding)},
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
