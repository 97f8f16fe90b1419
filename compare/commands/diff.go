package commands

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
	"coapply.dev/compare/summary"
)

func diffCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "diff DIR DIR",
		Short: "Compare two runs, cell by cell",
		Long: `Compare two runs, cell by cell: which arms became better or worse by more than chance explains,
and which lose updates in only one of the runs. The exit code is 1 if there is such an arm.`,
		Example: "  compare diff before after",
		Args:    arguments("two folders that compare run has written", 2),

		ValidArgsFunction: folders,
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs [2]summary.Measured
			for i, dir := range args {
				var err error
				if runs[i].Run, runs[i].Trials, err = results.Load(dir); err != nil {
					return err
				}
			}
			d := summary.Diff(runs[0], runs[1])
			changed := showDiff(cmd.OutOrStdout(), d)
			if changed {
				return errFound
			}
			return nil
		},
	}
}

// showDiff prints the differences, and reports whether anything changed.
func showDiff(out io.Writer, d summary.Differences) (changed bool) {
	for _, warning := range d.Warnings {
		fmt.Fprintln(out, wrapped(out, "Warning: "+warning))
	}
	var rows []table.Row
	var reasons []string
	count := map[string]int{}
	for _, row := range d.Rows {
		changed = changed || row.Changed()
		lost := fmt.Sprint(row.LostAfter)
		if row.LostBefore != row.LostAfter {
			lost = fmt.Sprintf("%d → %d", row.LostBefore, row.LostAfter)
		}
		rows = append(rows, table.Row{
			row.Arm + "\n  " + row.Cell, summary.Number(row.Before.Mean), summary.Number(row.After.Mean), lost,
			summary.Times(row.Ratio, row.Lo, row.Hi) + " " + string(row.Verdict),
		})
		if row.Verdict == statistics.NoVerdict {
			if count[row.Why] == 0 {
				reasons = append(reasons, row.Why)
			}
			count[row.Why]++
		}
	}
	if len(rows) == 0 {
		fmt.Fprintln(out, "The runs have no cell and arm in common.")
	} else {
		fmt.Fprintln(out, tableOf(widthOf(out), table.Row{"arm, cell", "before/s", "after/s", "lost", "ratio, verdict"}, rows))
	}
	for _, why := range reasons {
		fmt.Fprintln(out, wrapped(out, fmt.Sprintf("No verdict in %d of %d rows: %s", count[why], len(rows), why)))
	}
	for title, names := range map[string][]string{"Only before": d.OnlyBefore, "Only after": d.OnlyAfter} {
		if len(names) > 0 {
			fmt.Fprintln(out, wrapped(out, title+": "+strings.Join(names, ", ")))
		}
	}
	return changed
}
