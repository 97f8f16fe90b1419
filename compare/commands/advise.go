package commands

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"coapply.dev/compare/advise"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

func adviseCommand() *cobra.Command {
	var write advise.Write
	var situation advise.Situation
	cmd := &cobra.Command{
		Use:   "advise [DIR]",
		Short: "Say how to write: which layers a write needs, and which arm did best where it was measured",
		Long: `Say how to write. The four questions (--cached-object, --update, --repeatable, --counts) give the
layers that a write needs. With the folder of a run, the arms of the cell that is nearest to
--writers, --objects, --managers and --rtt are ranked, with the cell that this rests on.`,
		Example: `  compare advise --update --repeatable               # a status write
  compare advise --cached-object --counts             # pods of a set, counted in the cache
  compare advise review --writers 16 --managers 4 --rtt 1ms`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("advise takes one folder, %d given; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&write.Cached, "cached-object", false, "it modifies an object that came from a cache")
	flags.BoolVar(&write.Updates, "update", false, "it updates or patches an object that exists")
	flags.BoolVar(&write.Repeatable, "repeatable", false, "it may be tried again")
	flags.BoolVar(&write.Counts, "counts", false, "it acts on several objects, or decides on a count of them")
	flags.IntVar(&situation.Writers, "writers", 4, "how many goroutines write at once")
	flags.IntVar(&situation.Objects, "objects", 1, "how many objects they write in turn")
	flags.IntVar(&situation.Managers, "managers", 4, "how many field managers an object has")
	flags.DurationVar(&situation.RTT, "rtt", 0, "round-trip time to the API server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		asked := flags.Changed("cached-object") || flags.Changed("update") || flags.Changed("repeatable") || flags.Changed("counts")
		return runAdvise(cmd.OutOrStdout(), args, asked, write, situation)
	}
	return cmd
}

func runAdvise(out io.Writer, args []string, asked bool, write advise.Write, situation advise.Situation) error {
	switch {
	case len(args) == 0 && !asked:
		return errors.New("advise on what? Answer the four questions by flags, or name the folder of a run; see compare advise --help")
	case situation.Writers < 1 || situation.Objects < 1 || situation.Managers < 1 || situation.RTT < 0:
		return errors.New("--writers, --objects and --managers are 1 or more, --rtt is 0 or more")
	}
	if asked {
		fmt.Fprintln(out, layerTable(advise.Layers(write)))
	}
	if len(args) == 0 {
		return nil
	}
	run, trials, err := results.Load(args[0])
	if err != nil {
		return err
	}
	advice, ok := advise.For(summary.Of(run, trials), situation)
	if !ok {
		return fmt.Errorf("%s has nothing to advise from: no trials of hot-object that count", args[0])
	}
	printStrategies(out, advice, situation)
	return nil
}

func layerTable(layers []advise.Layer) string {
	t := newTable("layer", "needed", "why")
	for _, l := range layers {
		needed := "no"
		if l.Needed {
			needed = "yes"
		}
		t.AppendRow(table.Row{l.Name, needed, l.Why})
	}
	return t.Render() + "\n"
}

func printStrategies(out io.Writer, advice advise.Advice, s advise.Situation) {
	t := newTable("arm", "intents/s", "95 %", "p99", "against the baseline", "against it")
	for _, strategy := range advice.Strategies {
		r := strategy.Result
		t.AppendRow(table.Row{
			strategy.Arm, fmt.Sprintf("%.0f", r.Goodput.Mean), intervalText(r.Goodput), milliseconds(r.Latency.P99),
			ratioText(strategy.Comparison), strategy.Against,
		})
	}
	fmt.Fprintln(out, t.Render())
	fmt.Fprintf(out, "\nRests on %s, %d trials of each arm.\n", advice.Cell, advice.Strategies[0].Result.Trials)
	if !advice.Exact {
		fmt.Fprintf(out, "That is the nearest cell measured; %d writers, %d objects, %d managers and %s were not.\n",
			s.Writers, s.Objects, s.Managers, s.RTT.Round(time.Microsecond))
	}
}

func intervalText(i *results.Interval) string {
	if i == nil || i.Lo == nil || i.Hi == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.0f-%.0f", *i.Lo, *i.Hi)
}

func milliseconds(ms *float64) string {
	if ms == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.0f ms", *ms)
}

func ratioText(c *results.Comparison) string {
	if c == nil {
		return "is the baseline"
	}
	return fmt.Sprintf("%.2f (%.2f-%.2f), %s", c.Ratio, c.Lo, c.Hi, c.Word)
}
