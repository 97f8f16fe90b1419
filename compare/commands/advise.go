package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"coapply.dev/compare"
	"coapply.dev/compare/advise"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// questions are the four of advise: by flag, or one after another on a terminal.
var questions = []struct {
	flag, usage, ask string
	answer           func(*advise.Write) *bool
}{
	{
		"cached-object", "it modifies an object that came from a cache", "Does it modify an object that came from a cache?",
		func(w *advise.Write) *bool { return &w.Cached },
	},
	{
		"update", "it updates or patches an object that exists", "Does it update or patch an object that exists?",
		func(w *advise.Write) *bool { return &w.Updates },
	},
	{
		"repeatable", "it may be tried again", "May it be tried again, without doing anything twice?",
		func(w *advise.Write) *bool { return &w.Repeatable },
	},
	{
		"counts", "it acts on several objects, or decides on a count of them",
		"Does it act on several objects, or decide on a count of them?", func(w *advise.Write) *bool { return &w.Counts },
	},
}

func adviseCommand() *cobra.Command {
	var write advise.Write
	var situation advise.Situation
	cmd := &cobra.Command{
		Use:   "advise [DIR]",
		Short: "Say how to write: which layers a write needs, and which arm did best where it was measured",
		Long: `Say how to write. Four questions (--cached-object, --update, --repeatable, --counts; without
any flag they are asked one after another) give the layers that a write needs. With the folder
of a run, the arms of the cell that is nearest to --writers, --objects, --managers and --rtt are
ranked, with the cell that this rests on.`,
		Example: `  compare advise                                      # asks
  compare advise --update --repeatable                # a status write
  compare advise --cached-object --counts             # pods of a set, counted in the cache
  compare advise review --writers 16 --managers 4 --rtt 1ms`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("advise takes one folder, %d given; see %s --help", len(args), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: folders,
	}
	flags := cmd.Flags()
	for _, q := range questions {
		flags.BoolVar(q.answer(&write), q.flag, false, q.usage)
	}
	flags.IntVar(&situation.Writers, "writers", 4, "with DIR: how many goroutines write at once")
	flags.IntVar(&situation.Objects, "objects", 1, "with DIR: how many objects they write in turn")
	flags.IntVar(&situation.Managers, "managers", 4, "with DIR: how many field managers an object has")
	flags.DurationVar(&situation.RTT, "rtt", 0, "with DIR: round-trip time to the API server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runAdvise(cmd, args, write, situation) }
	return cmd
}

func runAdvise(cmd *cobra.Command, args []string, write advise.Write, situation advise.Situation) error {
	flags := cmd.Flags()
	located, answered := false, false
	for _, flag := range []string{"writers", "objects", "managers", "rtt"} {
		located = located || flags.Changed(flag)
	}
	for _, q := range questions {
		answered = answered || flags.Changed(q.flag)
	}
	switch {
	case situation.Writers < 1 || situation.Objects < 1 || situation.Managers < 1 || situation.RTT < 0:
		return errors.New("--writers, --objects and --managers are 1 or more, --rtt is 0 or more")
	case len(args) == 0 && located:
		return errors.New("--writers, --objects, --managers and --rtt need the folder of a run to look into: compare advise DIR")
	case len(args) == 0 && !answered:
		if err := askAll(cmd, &write); err != nil {
			return err
		}
		answered = true
	}
	out, width := cmd.OutOrStdout(), widthOf(cmd.OutOrStdout())
	if answered {
		fmt.Fprintln(out, layerTable(width, advise.Layers(write)))
	}
	if len(args) == 0 {
		return nil
	}
	return adviseFrom(args[0], situation, width, out)
}

func askAll(cmd *cobra.Command, write *advise.Write) error {
	a, err := newAsker(cmd)
	if errors.Is(err, errNobody) {
		return errors.New("advise on what? Answer the four questions by flags, or name the folder of a run; see compare advise --help")
	}
	for _, q := range questions {
		if *q.answer(write), err = a.yes(cmd.Context(), q.ask); err != nil {
			return err
		}
	}
	return nil
}

func layerTable(width int, layers []advise.Layer) string {
	var rows []table.Row
	for _, l := range layers {
		needed := "no"
		if l.Needed {
			needed = "yes"
		}
		rows = append(rows, table.Row{l.Name, needed, l.Why})
	}
	return tableOf(width, table.Row{"layer", "needed", "why"}, rows)
}

// adviseFrom ranks arms by what a run measured.
func adviseFrom(dir string, s advise.Situation, width int, out io.Writer) error {
	run, trials, err := results.Load(dir)
	if err != nil {
		return err
	}
	reckoned := summary.Of(run, trials)
	if reckoned.Void != "" {
		return fmt.Errorf("%s cannot advise, as the run is void: %s", dir, reckoned.Void)
	}
	advice, ok := advise.For(reckoned, s)
	if !ok {
		return fmt.Errorf("%s cannot advise: it has no cell of hot-object with a verdict; see why in `compare render %s`", dir, dir)
	}
	fmt.Fprintln(out, strategyTable(width, advice))
	var arms []string
	for _, s := range advice.Strategies {
		arms = append(arms, s.Arm)
	}
	if turns := summary.InTurn(run, arms...); turns != "" {
		fmt.Fprintln(out, "Note: "+turns+".")
	}
	fmt.Fprintf(out, "Rests on %s, %d trials of each arm.\n", advice.Cell, advice.Strategies[0].Result.Trials)
	if !advice.Exact {
		asked := compare.Cell{Workload: "hot-object", Parameters: compare.Parameters{
			Writers: s.Writers, Objects: s.Objects, Managers: s.Managers, RTT: s.RTT,
		}}
		fmt.Fprintf(out, "That is the nearest cell measured: %s was not.\n", asked)
	}
	return nil
}

func strategyTable(width int, advice advise.Advice) string {
	var rows []table.Row
	for _, strategy := range advice.Strategies {
		r := strategy.Result
		ratio, verdict := "1", "the baseline"
		if c := strategy.Comparison; c != nil {
			ratio, verdict = fmt.Sprintf("%.2f (%.2f-%.2f)", c.Ratio, c.Lo, c.Hi), c.Word
		}
		verdict = strings.TrimSuffix(verdict+"; "+strategy.Against, "; ")
		rows = append(rows, table.Row{strategy.Arm, intervalText(*r.Goodput), milliseconds(r.Latency.P99), ratio, verdict})
	}
	return tableOf(width, table.Row{"arm", "intents/s (95 %)", "p99", "ratio (95 %)", "which is"}, rows)
}

func intervalText(i results.Interval) string {
	if i.Lo == nil || i.Hi == nil {
		return fmt.Sprintf("%.0f (n/a)", i.Mean)
	}
	return fmt.Sprintf("%.0f (%.0f-%.0f)", i.Mean, *i.Lo, *i.Hi)
}

func milliseconds(ms *float64) string {
	if ms == nil { // more than that share of the intents did not land
		return "never"
	}
	return fmt.Sprintf("%.0f ms", *ms)
}
