package commands

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"coapply.dev/compare/advise"
	"coapply.dev/compare/results"
	"coapply.dev/compare/summary"
)

// questions are the four questions of advise, which are answered by flags or interactively on a terminal.
var questions = []struct {
	flag, usage, ask string
	answer           func(*advise.Write) *bool
}{
	{
		"cached-object", "the code modifies an object from a cache", "Does the code modify an object from a cache?",
		func(w *advise.Write) *bool { return &w.Cached },
	},
	{
		"update", "the code updates or patches an existing object", "Does the code update or patch an existing object?",
		func(w *advise.Write) *bool { return &w.Updates },
	},
	{
		"repeatable", "the write may be retried", "May the write be retried, without doing anything twice?",
		func(w *advise.Write) *bool { return &w.Repeatable },
	},
	{
		"counts", "the code writes to several objects, or depends on their number",
		"Does the code write to several objects, or depend on their number?", func(w *advise.Write) *bool { return &w.Counts },
	},
}

func adviseCommand() *cobra.Command {
	var write advise.Write
	var situation advise.Situation
	cmd := &cobra.Command{
		Use:   "advise [DIR]",
		Short: "Advise how to write: the protections that a write needs, and the best arm of a run",
		Long: `Advise how to write. The answers to four questions (--cached-object, --update, --repeatable,
--counts; without flags, the command asks) decide which protections a write needs. With the folder
of a run, the command names the best arm in the cell that is most similar to --writers, --processes,
--objects, --managers and --rtt, or reports that the run has no similar cell.`,
		Example: `  compare advise                                      # asks the questions
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
	flags.IntVar(&situation.Writers, "writers", 4, "with DIR: number of goroutines that write concurrently, over all processes")
	flags.IntVar(&situation.Processes, "processes", 1, "with DIR: number of processes that the writers are spread over")
	flags.IntVar(&situation.Objects, "objects", 1, "with DIR: number of objects that each writer writes to in turn")
	flags.IntVar(&situation.Managers, "managers", 4, "with DIR: number of field managers on each object")
	flags.DurationVar(&situation.RTT, "rtt", 0, "with DIR: round-trip time to the API server")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return runAdvise(cmd, args, write, situation) }
	return cmd
}

func runAdvise(cmd *cobra.Command, args []string, write advise.Write, situation advise.Situation) error {
	flags := cmd.Flags()
	located, answered := false, false
	for _, flag := range []string{"writers", "processes", "objects", "managers", "rtt"} {
		located = located || flags.Changed(flag)
	}
	for _, q := range questions {
		answered = answered || flags.Changed(q.flag)
	}
	switch {
	case min(situation.Writers, situation.Processes, situation.Objects, situation.Managers) < 1 || situation.RTT < 0:
		return errors.New("--writers, --processes, --objects and --managers must be at least 1, and --rtt at least 0")
	case situation.Processes > situation.Writers:
		return fmt.Errorf("--processes %d is more than --writers %d: each process needs a writer", situation.Processes, situation.Writers)
	case len(args) == 0 && located:
		return errors.New("--writers, --processes, --objects, --managers and --rtt describe the situation to look up in a run, but no run was given: use compare advise DIR, with the folder of a run")
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
		return errors.New("nothing to advise on: describe the write by flags, or name the folder of a run; see compare advise --help")
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

// adviseFrom prints the advice for a situation, from the most similar cell of a run.
func adviseFrom(dir string, situation advise.Situation, width int, out io.Writer) error {
	run, trials, err := results.Load(dir)
	if err != nil {
		return err
	}
	advice, err := advise.For(summary.Of(run, trials), situation)
	if err != nil {
		return fmt.Errorf("no advice from the run in %s: %w", dir, err)
	}
	answer := advice.Situation
	fmt.Fprintln(out, text.WrapSoft("Use "+strings.Join(answer.Use, " or ")+": "+strings.ReplaceAll(answer.Because, "`", "")+".", width))
	fmt.Fprintln(out)
	fmt.Fprintln(out, armsTable(width, advice.Rows))
	fmt.Fprintf(out, "This advice is based on cell %s, with %d trials of each arm.\n", answer.Cell, advice.Rows[0].Trials)
	if !advice.Exact {
		fmt.Fprintln(out, "No measured cell matches the situation exactly: this cell is the most similar one.")
	}
	return nil
}

func armsTable(width int, arms []summary.Row) string {
	var rows []table.Row
	for _, r := range arms {
		rows = append(rows, table.Row{
			r.Arm, estimated(r, "goodput_per_s"), estimated(r, "p99_ms"), estimated(r, "apiserver_cpu_ms_per_intent"),
			fmt.Sprintf("%s, %d lost", summary.Percent(r.Measures["give_up_share"].Mean), r.LostUpdates),
		})
	}
	return tableOf(width, table.Row{"arm", "intents/s", "p99 ms", "server ms", "gave up, lost"}, rows)
}

func estimated(r summary.Row, measure string) string {
	if e, found := r.Measures[measure]; found {
		return summary.Estimated(e)
	}
	return summary.NA // such as for the p99 if more than 1 % of the intents did not land
}
