package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"coapply.dev/compare"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/nearest"
	"coapply.dev/compare/results"
)

func listCommand(catalogue compare.Catalogue) *cobra.Command {
	kinds := append([]string{"arms", "workloads"}, bench.Profiles...)
	return &cobra.Command{
		Use:   "list [arms|workloads|PROFILE]",
		Short: "List arms and workloads, or the cells of a profile with the time they take",
		Example: `  compare list
  compare list review`,
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("list takes at most one argument (%s), but %d are given", strings.Join(kinds, ", "), len(args))
			case len(args) == 1 && !slices.Contains(kinds, args[0]):
				return fmt.Errorf("there is no list of %q%s; use %s, or no argument to list arms and workloads", args[0],
					didYouMean(nearest.Names(args[0], kinds)), strings.Join(kinds, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out, width := cmd.OutOrStdout(), widthOf(cmd.OutOrStdout())
			which := strings.Join(args, "")
			if which == "" || which == "arms" {
				fmt.Fprintln(out, armTable(width, catalogue))
			}
			if which == "" || which == "workloads" {
				fmt.Fprintln(out, workloadTable(width, catalogue))
			}
			if slices.Contains(bench.Profiles, which) {
				fmt.Fprintln(out, planTable(width, bench.Plan(catalogue, which)))
			}
			return nil
		},
	}
}

func armTable(width int, catalogue compare.Catalogue) string {
	var rows []table.Row
	for _, arm := range catalogue.Arms {
		rows = append(rows, table.Row{arm.Name, arm.Summary})
	}
	return tableOf(width, table.Row{"arm", "what it does"}, rows)
}

func workloadTable(width int, catalogue compare.Catalogue) string {
	var rows []table.Row
	for _, w := range catalogue.Workloads {
		rows = append(rows, table.Row{w.Name, w.Summary})
	}
	return tableOf(width, table.Row{"workload", "what is written"}, rows)
}

// planTable returns a table of the cells of a plan, with the estimated time for each cell.
func planTable(width int, plan []results.PlannedCell) string {
	var rows []table.Row
	for _, cell := range plan {
		name := cell.Cell.String()
		if cell.Control {
			name += " (controls)"
		}
		arms := strings.Join(cell.Arms, " ")
		if cell.AA != "" {
			arms += " " + cell.AA + "-again"
		}
		alone := bench.Estimate([]results.PlannedCell{cell})
		rows = append(rows, table.Row{
			name, fmt.Sprint(cell.Blocks), alone.Round(time.Second).String(), arms,
		})
	}
	all := tableOf(width, table.Row{"cell", "times", "takes", "arms"}, rows)
	return all + fmt.Sprintf("\nThe total time is about %s.", bench.Estimate(plan).Round(time.Second))
}

func armNames(catalogue compare.Catalogue) (names []string) {
	for _, arm := range catalogue.Arms {
		names = append(names, arm.Name)
	}
	return names
}

func workloadNames(catalogue compare.Catalogue) (names []string) {
	for _, w := range catalogue.Workloads {
		names = append(names, w.Name)
	}
	return names
}

// completeNames registers the shell completion of a flag whose value is a list of names, separated by commas.
func completeNames(cmd *cobra.Command, flag string, names []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) (
		[]string, cobra.ShellCompDirective,
	) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		candidates := make([]string, len(names))
		for i, name := range names {
			candidates[i] = before + name
		}
		return candidates, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}
