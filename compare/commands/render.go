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

// folders completes the folder of a run.
func folders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// render writes everything that is reckoned from a run's data, and prints the verdict. void says that nothing of the run
// counts.
func render(dir string, out io.Writer) (void bool, err error) {
	run, trials, err := results.Load(dir)
	if err != nil {
		return false, err
	}
	r := derive(run, trials)
	for _, file := range []struct {
		name string
		make func() ([]byte, error)
	}{
		{"results.json", func() ([]byte, error) { return results.JSON(r) }},
		{"results.csv", func() ([]byte, error) { return results.CSV(r) }},
		{"results.bench", func() ([]byte, error) { return results.Bench(run, trials) }},
		{"report.md", func() ([]byte, error) { return report.Markdown(run, trials, r) }},
		{"report.html", func() ([]byte, error) { return report.HTML(run, trials, r) }},
	} {
		data, err := file.make()
		if err != nil {
			return false, fmt.Errorf("%s: %w", file.name, err)
		}
		if err := results.WriteDerived(dir, file.name, data); err != nil {
			return false, err
		}
	}
	if left := strays(run, trials); left != "" {
		fmt.Fprintln(out, left)
	}
	return say(dir, r, out)
}

// derive is everything that is reckoned from a run's data.
func derive(run results.Run, trials []results.Trial) results.Results {
	return summary.Of(run, trials)
}

// say prints what the run comes to, for a person.
func say(dir string, r results.Results, out io.Writer) (void bool, err error) {
	var lines []string
	if r.Void != "" {
		lines = append(lines, "This run is void: "+r.Void)
	}
	if r.Run.Interrupted != "" {
		lines = append(lines, fmt.Sprintf("This run was interrupted after %d of %d trials: %s", r.Run.Trials, r.Run.Planned, r.Run.Interrupted))
	}
	lines = append(lines, r.Verdict...)
	for _, line := range append(lines, "The report is in "+filepath.Join(dir, "report.html")) {
		if _, err := fmt.Fprintln(out, wrapped(out, line)); err != nil {
			return false, err
		}
	}
	return r.Void != "", nil
}

// strays says which trials are of no cell of the plan. No report shows them.
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
	return fmt.Sprintf("%d of %d trials are of no cell or arm in the plan of %s, and are left out: %s", len(names), len(trials),
		results.RunFile, first)
}

func diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Compare two runs, cell by cell",
		Long: `Compare two runs, cell by cell: what became faster or slower beyond what chance explains, and
whether updates are lost that were not. The exit code is 1 when something changed.`,
		Example: "  compare diff before after",
		Args:    arguments("two folders that compare run has written", 2),

		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			before, trialsBefore, err := results.Load(args[0])
			if err != nil {
				return err
			}
			after, trialsAfter, err := results.Load(args[1])
			if err != nil {
				return err
			}
			differences := results.Diff(summary.Of(before, trialsBefore), summary.Of(after, trialsAfter))
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), differences.Table()); err != nil {
				return err
			}
			if differences.Changed() {
				return errFound
			}
			return nil
		},
	}
}
