package commands

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"coapply.dev/compare"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/results"
)

func listCommand(catalogue compare.Catalogue) *cobra.Command {
	kinds := []string{"arms", "workloads", "quick", "review"}
	return &cobra.Command{
		Use:   "list [arms|workloads|quick|review]",
		Short: "List arms and workloads, or the cells of a profile with the time they take",
		Example: `  compare list
  compare list review`,
		ValidArgs: kinds,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && !slices.Contains(kinds, args[0]) {
				return fmt.Errorf("list %s: use %s, or nothing for arms and workloads", strings.Join(args, " "),
					strings.Join(kinds, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			which := strings.Join(args, "")
			if which == "" || which == "arms" {
				fmt.Fprintln(out, armTable(catalogue))
			}
			if which == "" || which == "workloads" {
				fmt.Fprintln(out, workloadTable(catalogue))
			}
			switch which {
			case bench.Quick:
				fmt.Fprintln(out, planTable(bench.QuickPlan(catalogue)))
			case bench.Review:
				fmt.Fprintln(out, planTable(bench.ReviewPlan(catalogue)))
			}
			return nil
		},
	}
}

// newTable fits a terminal of 80 columns.
func newTable(header ...any) table.Writer {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Options = table.OptionsNoBordersAndSeparators
	t.Style().Format.Header = text.FormatUpper
	t.AppendHeader(header)
	t.SetColumnConfigs([]table.ColumnConfig{{Number: len(header), WidthMax: 56, WidthMaxEnforcer: text.WrapSoft}})
	t.SuppressTrailingSpaces()
	return t
}

func armTable(catalogue compare.Catalogue) string {
	t := newTable("arm", "what it does")
	for _, arm := range catalogue.Arms {
		t.AppendRow(table.Row{arm.Name, arm.Summary})
	}
	return t.Render() + "\n"
}

func workloadTable(catalogue compare.Catalogue) string {
	t := newTable("workload", "what is written")
	for _, w := range catalogue.Workloads {
		t.AppendRow(table.Row{w.Name, w.Summary})
	}
	return t.Render() + "\n"
}

// planTable says what a profile measures, and how long each cell takes.
func planTable(plan []results.PlannedCell) string {
	t := newTable("cell", "times", "takes", "arms")
	for _, cell := range plan {
		name := cell.Cell.String()
		if cell.Control {
			name += " (controls)"
		}
		alone := bench.Estimate([]results.PlannedCell{cell})
		t.AppendRow(table.Row{name, cell.Blocks, alone.Round(time.Second), strings.Join(cell.Arms, " ")})
	}
	return t.Render() + fmt.Sprintf("\n\nIn all about %s.\n", bench.Estimate(plan).Round(time.Second))
}

func armNames(catalogue compare.Catalogue) []string {
	names := make([]string, len(catalogue.Arms))
	for i, arm := range catalogue.Arms {
		names[i] = arm.Name
	}
	return names
}

func workloadNames(catalogue compare.Catalogue) []string {
	names := make([]string, len(catalogue.Workloads))
	for i, w := range catalogue.Workloads {
		names[i] = w.Name
	}
	return names
}

// completeNames completes a flag that takes names separated by commas.
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
