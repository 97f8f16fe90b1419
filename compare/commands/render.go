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
		Use:   "render DIR",
		Short: "Write the report again, from a run's data alone",
		Long: `Write the report again, from a run's data alone: run.json and trials.jsonl. The same data
gives the same bytes. It works after a run that was killed, too.`,
		Example: "  compare render review",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			void, err := render(args[0], cmd.OutOrStdout())
			if err == nil && void {
				return errFound
			}
			return err
		},
	}
}

// render computes all derived files in the folder of a run, and prints the answers to the four questions of the
// report. It returns true if the whole run is void.
func render(dir string, out io.Writer) (void bool, err error) {
	run, trials, err := results.Load(dir)
	if err != nil {
		return false, err
	}
	s := summary.Of(run, trials)
	for _, file := range []struct {
		name string
		make func() ([]byte, error)
	}{
		{"results.jsonl", s.JSONLines},
		{"results.bench", func() ([]byte, error) { return results.Bench(run, trials) }},
		{"report.md", func() ([]byte, error) { return report.Markdown(run, s), nil }},
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
	for _, answer := range s.Answers {
		lines = append(lines, answer.Question+" "+strings.ReplaceAll(answer.Text, "`", ""))
	}
	lines = append(lines, "The report is in "+filepath.Join(dir, "report.html"))
	_, err := fmt.Fprintln(out, strings.Join(lines, "\n"))
	return err
}
