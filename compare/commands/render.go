package commands

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
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
		Args:    arguments("a folder that compare run has written", 1),

		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			void, err := render(args[0], cmd.OutOrStdout())
			if err == nil && void {
				return errFound
			}
			return err
		},
	}
}

func arguments(what string, count int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != count {
			return fmt.Errorf("%s takes %s, %d given; see %s --help", cmd.Name(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// folders is the shell completion for the folder of a run.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
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
	if left := strays(run, trials); left != "" {
		fmt.Fprintln(out, left)
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
	for _, line := range append(lines, "The report is in "+filepath.Join(dir, "report.html")) {
		if _, err := fmt.Fprintln(out, wrapped(out, line)); err != nil {
			return err
		}
	}
	return nil
}

// strays returns a warning about trials that do not belong to a cell of the plan. The report ignores them.
func strays(run results.Run, trials []results.Trial) string {
	var names []string
	for _, t := range trials {
		if !slices.ContainsFunc(run.Plan, func(cell results.PlannedCell) bool {
			return t.Cell == cell.Cell && (t.AA && t.Arm == cell.AA || !t.AA && slices.Contains(cell.Arms, t.Arm))
		}) {
			names = append(names, t.ID)
		}
	}
	if len(names) == 0 {
		return ""
	}
	first := strings.Join(names[:min(3, len(names))], ", ")
	return fmt.Sprintf("%d of %d trials are left out, because their cell or arm is not in the plan in %s: %s", len(names), len(trials),
		results.RunFile, first)
}
