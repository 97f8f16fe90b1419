package commands

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"coapply.dev/compare"
)

func listCommand(catalogue compare.Catalogue) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List arms and workloads",
		Example: "  compare list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(out, "ARM\tWHAT IT DOES")
			for _, arm := range catalogue.Arms {
				fmt.Fprintf(out, "%s\t%s\n", arm.Name, arm.Summary)
			}
			fmt.Fprintln(out, "\nWORKLOAD\tWHAT IS WRITTEN")
			for _, w := range catalogue.Workloads {
				fmt.Fprintf(out, "%s\t%s\n", w.Name, w.Summary)
			}
			return out.Flush()
		},
	}
}
