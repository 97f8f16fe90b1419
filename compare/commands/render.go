package commands

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"coapply.dev/compare/report"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

func renderCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "render DIR [AGAIN]",
		Short: "Write the report of a run again, from the data of the run",
		Long: `Write the report of a run again, from run.json and trials.jsonl in the folder DIR. The same data
gives the same bytes. The command also works for a run that was killed.

AGAIN is the folder of a second run of the same plan. The report in DIR then shows the ratios of
both runs, and a comparison has a verdict only if both runs have the same verdict.`,
		Example: `  compare render review
  compare render review review-again`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			void, err := render(cmd.OutOrStdout(), args...)
			if err == nil && void {
				return errFound
			}
			return err
		},
	}
}

// render computes all derived files in the folder of a run, and prints the answers of the report. A second folder is that of
// the same run, made again. render returns true if the whole run is void.
func render(out io.Writer, dirs ...string) (void bool, err error) {
	dir := dirs[0]
	run, trials, err := results.Load(dir)
	if err != nil {
		return false, err
	}
	s := summary.Of(run, trials)
	if len(dirs) > 1 {
		again, more, err := results.Load(dirs[1])
		if err != nil {
			return false, err
		}
		s = summary.Repeated(run, trials, summary.Of(again, more))
	}
	for _, file := range []struct {
		name string
		make func() ([]byte, error)
	}{
		{"results.jsonl", s.JSONLines},
		{"results.bench", func() ([]byte, error) { return results.Bench(run, trials) }},
		{"report.md", func() ([]byte, error) { return report.Markdown(run, s) }},
		{"report.html", func() ([]byte, error) { return report.HTML(run, s) }},
	} {
		data, err := file.make()
		if err != nil {
			return false, fmt.Errorf("computing %s: %w", file.name, err)
		}
		if err := results.WriteDerived(dir, file.name, data); err != nil {
			return false, err
		}
	}
	return s.Void != "", say(dir, s, out)
}

// say prints a summary of the run in plain text.
func say(dir string, s summary.Summary, out io.Writer) error {
	var lines []string
	if s.Void != "" {
		lines = append(lines, "This run is void: "+s.Void)
	}
	lines = append(lines, s.Notes...)
	for _, square := range s.Squares {
		lines = append(append(lines, square.Situation), square.Answer...)
	}
	for _, answer := range s.Answers {
		lines = append(lines, answer.Question+" "+strings.ReplaceAll(answer.Text, "`", ""))
	}
	lines = append(lines, "The report is in "+filepath.Join(dir, "report.html"))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
