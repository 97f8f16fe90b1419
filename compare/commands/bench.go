package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/peers/cells"
	"coapply.dev/compare/peers/functions"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/workloads"
)

type benchFlags struct {
	catalogue        compare.Catalogue
	rounds           int
	only             []string
	quick            bool
	output, markdown string
}

// benchParts are the names of the parts of `compare bench`, in the order of its result table.
var benchParts = []string{"contention", "processes", "width", "requests", "micro", "scale"}

// withBench returns the catalogue with the additional arms and the additional workload of the command bench.
func withBench(c compare.Catalogue) compare.Catalogue {
	c.Arms, c.Workloads = append(c.Arms, arms.ForBench()...), append(c.Workloads, workloads.HotDeployment())
	return c
}

func benchCommand(catalogue compare.Catalogue) *cobra.Command {
	f := &benchFlags{catalogue: catalogue}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure the performance of coapply on this machine, and compare it with its targets",
		Long: `Measure the performance of coapply on this machine, and print a table. It shows for each measure the
required value (must), the target (aim), the measured values, and the values of other libraries.

The command starts a control plane of its own on this machine, with fsync (the first run takes
minutes to build it), and writes as an ordinary user without a rate limit. Run nothing else meanwhile.
The exit code is 1 if a required value is missed.`,
		Example: `  compare bench
  compare bench --only requests,micro --rounds 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.rounds, "rounds", 5, "number of rounds: how many times each part is measured (scale: once)")
	flags.StringSliceVar(&f.only, "only", nil, "parts to measure: "+strings.Join(benchParts, ", "))
	flags.BoolVar(&f.quick, "quick", false, "make one short round, to test that everything works; its numbers are meaningless")
	flags.StringVarP(&f.output, "output", "o", "", "file for the raw results, as JSON")
	flags.StringVar(&f.markdown, "markdown", "", "file for the table and the environment, in the format of docs/performance.md")
	return cmd
}

func (f *benchFlags) check() error {
	for _, part := range f.only {
		if !slices.Contains(benchParts, part) {
			return fmt.Errorf("--only %s: there is no such part; use %s", part, strings.Join(benchParts, ", "))
		}
	}
	if f.rounds < 1 || f.rounds > 100 {
		return fmt.Errorf("--rounds %d is out of range: use 1 to 100", f.rounds)
	}
	if f.quick {
		f.rounds = 1
	}
	return nil
}

// wanted returns the parts to measure, in the order of the result table. A quick run skips scale unless it is named,
// because scale always takes minutes.
func (f *benchFlags) wanted() []string {
	return slices.DeleteFunc(slices.Clone(benchParts), func(part string) bool {
		return len(f.only) > 0 && !slices.Contains(f.only, part) || len(f.only) == 0 && f.quick && part == "scale"
	})
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	notes, err := notesIn(f.markdown) // read now, so that an error does not come only after minutes of measuring
	if err != nil {
		return err
	}
	report, failure := f.measure(cmd, cmd.ErrOrStderr())
	if len(report.Rows) == 0 && failure != nil {
		return failure
	}
	fmt.Fprint(cmd.OutOrStdout(), report.Table())
	if err := errors.Join(write(f.output, report.Write), write(f.markdown, func(w io.Writer) error {
		_, err := io.WriteString(w, report.Markdown()+notes)
		return err
	}), failure); err != nil {
		return err
	}
	missed := slices.ContainsFunc(report.Rows, func(r measure.Row) bool { return r.Met() == "no" })
	if (missed && !f.quick) || report.LostUpdates > 0 {
		return errFound
	}
	return nil
}

// notesHeading is the heading of the manually written notes in docs/performance.md. They are kept when the file is written again.
const notesHeading = "\n## What is missed, and why\n"

func notesIn(file string) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the notes from the file that --markdown names: %w", err)
	}
	_, notes, found := strings.Cut(string(content), notesHeading)
	if !found {
		return "", nil
	}
	return notesHeading + notes, nil
}

// measure runs the trials and then the Go benchmarks. The Go benchmarks start their own control planes. After an
// error, the returned report contains the results so far.
func (f *benchFlags) measure(cmd *cobra.Command, progress io.Writer) (measure.Report, error) {
	ctx := cmd.Context()
	report := measure.Report{
		Command: strings.Join(repeated(cmd, "bench", "output", "markdown"), " "), Started: time.Now(), Rounds: f.rounds, Quick: f.quick,
	}
	err := f.inCells(ctx, &report, progress)
	for _, t := range report.Trials {
		report.LostUpdates += t.Oracle.LostUpdates()
		report.Acknowledged += t.Oracle.Acknowledged
	}
	for _, part := range f.wanted() {
		if err != nil {
			break
		}
		var rows []measure.Row
		if rows, err = functions.Measure(ctx, part, functions.Options{Rounds: f.rounds, Quick: f.quick, Progress: progress}); err != nil {
			err = fmt.Errorf("measuring %s: %w", part, err)
		}
		report.Rows = append(report.Rows, rows...)
	}
	report.Took = time.Since(report.Started)
	return report, err
}

// inCells runs trials like `compare run`, but in a temporary folder, and adds their results to the report.
func (f *benchFlags) inCells(ctx context.Context, report *measure.Report, progress io.Writer) error {
	open := func(ctx context.Context) (*target.Target, error) { return target.Local(ctx, progress) }
	plan := cells.Plan(f.wanted(), f.rounds, f.quick)
	if len(plan) == 0 {
		t, err := open(ctx)
		if err != nil {
			return err
		}
		report.Environment = t.Environment()
		return t.Close(ctx)
	}
	dir, err := os.MkdirTemp("", "compare-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	failure := bench.Run(ctx, bench.Options{
		Catalogue: f.catalogue, Dir: dir, Open: open, Progress: progress,
		Run: results.Run{Command: report.Command, Seed: newSeed(), Profile: bench.Custom, Plan: plan},
	})
	run, trials, err := results.Load(dir)
	switch {
	case err != nil && failure != nil: // nothing was measured
		return failure
	case err != nil:
		return err
	}
	report.Environment, report.Trials = run.Environment, trials
	for _, part := range f.wanted() {
		report.Rows = append(report.Rows, cells.Rows(part, trials, f.quick)...)
	}
	return failure
}

// write writes a file, unless path is "".
func write(path string, content func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(content(file), file.Close())
}
