package commands

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// adviseCommand returns the command that describes the four protections against lost updates and races:
//   - a deep copy, for two goroutines that share a cached object;
//   - the resourceVersion, for two clients that write to one API object;
//   - a retry, for a write that fails because it is based on an outdated read;
//   - expectations, for two decisions that are based on the same outdated data.
func adviseCommand() *cobra.Command {
	var cached, updates, repeatable, counts bool
	cmd := &cobra.Command{
		Use:   "advise",
		Short: "Advise which protections a write needs",
		Long: `Advise which protections a write needs. Each flag answers a question about the write with yes; a
flag that is left out means no. The command lists all protections, and which of them the write needs.`,
		Example: `  compare advise --update --repeatable       # a status write
  compare advise --cached-object --counts    # pods of a set, counted in the cache`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() == 0 {
				return errors.New("set at least one of --cached-object, --update, --repeatable and --counts; see compare advise --help")
			}
			noRetry := "a create, a delete or a read never fails as a stale write"
			if updates {
				noRetry = "return the error, so that the queue calls the reconciler again"
			}
			out := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(out, "LAYER\tNEEDED\tWHY")
			for _, layer := range []struct {
				name        string
				needed      bool
				why, whyNot string
			}{
				{"deep copy", cached, "other code shares the cached object: modify a copy", "the code modifies no object that other code shares"},
				{"resourceVersion", updates, "without resourceVersion, the write overwrites changes that other clients made since the read", "the write is no update or patch"},
				{"retry", updates && repeatable,
					"RetryOnConflict, with DefaultRetry for many clients on one object, DefaultBackoff for objects that a controller owns", noRetry},
				{"expectations", counts,
					"a count from a cache may be outdated: use expectations, or names derived from the parent", "the decision depends on only one object"},
			} {
				if layer.needed {
					fmt.Fprintf(out, "%s\tyes\t%s\n", layer.name, layer.why)
				} else {
					fmt.Fprintf(out, "%s\tno\t%s\n", layer.name, layer.whyNot)
				}
			}
			fmt.Fprint(out, preconditions)
			return out.Flush()
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&cached, "cached-object", false, "the code modifies an object from a cache")
	flags.BoolVar(&updates, "update", false, "the code updates or patches an existing object")
	flags.BoolVar(&repeatable, "repeatable", false, "the write is idempotent, so a retry is safe")
	flags.BoolVar(&counts, "counts", false, "the code writes to several objects, or depends on the number of objects")
	return cmd
}

// preconditions are what each kind of request must name, whatever the answers are.
const preconditions = `
REQUEST	PRECONDITION
create	none
delete	uid
update, patch	resourceVersion
apply of own fields	none
`
