package peers

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
	"golang.org/x/term"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/contention"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/peers/micro"
	"coapply.dev/compare/peers/requests"
	"coapply.dev/compare/peers/scale"
	"coapply.dev/compare/peers/width"
	"coapply.dev/compare/target"
)

type benchFlags struct {
	catalogue        compare.Catalogue
	rounds           int
	only             []string
	quick            bool
	output, markdown string
}

// parts of the table, in its order.
var parts = []string{"contention", "processes", "width", "requests", "micro", "scale"}

// Command is `compare bench`, of a catalogue that has the peers.
func Command(catalogue compare.Catalogue) *cobra.Command {
	f := &benchFlags{catalogue: catalogue}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Print the table of what speed is promised, as measured here and now",
		Long: `Print the table of what speed is promised: for each measure what must be, what is aimed at,
what was measured here and now, and what peers come to in the same.

It starts a control plane of its own on this machine, with fsync (the first time it builds one:
minutes), and writes as an ordinary user without a rate limit. Nothing else should run meanwhile.
The exit code is 1 if a must is missed.`,
		Example: `  compare bench
  compare bench --only requests,micro --rounds 3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.IntVar(&f.rounds, "rounds", 5, "how often everything is measured, in turns")
	flags.StringSliceVar(&f.only, "only", nil, "parts to measure: "+strings.Join(parts, ", "))
	flags.BoolVar(&f.quick, "quick", false, "one short round, to see that everything runs; its numbers say nothing")
	flags.StringVarP(&f.output, "output", "o", "", "file for the raw results, as JSON")
	flags.StringVar(&f.markdown, "markdown", "", "file for the table with the environment, as docs/performance.md")
	return cmd
}

func (f *benchFlags) check() error {
	for _, part := range f.only {
		if !slices.Contains(parts, part) {
			return fmt.Errorf("--only %s: there are %s", part, strings.Join(parts, ", "))
		}
	}
	if f.rounds < 1 || f.rounds > 100 {
		return fmt.Errorf("--rounds %d: use 1 to 100", f.rounds)
	}
	if f.quick {
		f.rounds = 1
	}
	return nil
}

// wants leaves scale, which takes minutes whatever its size, out of a quick run.
func (f *benchFlags) wants(part string) bool {
	if len(f.only) == 0 {
		return !f.quick || part != "scale"
	}
	return slices.Contains(f.only, part)
}

func (f *benchFlags) run(cmd *cobra.Command) error {
	if err := f.check(); err != nil {
		return err
	}
	notes, err := notesIn(f.markdown) // before the minutes that measuring takes
	if err != nil {
		return err
	}
	report, failure := f.measure(cmd.Context(), cmd.ErrOrStderr())
	if len(report.Rows) == 0 && failure != nil {
		return failure
	}
	fmt.Fprint(cmd.OutOrStdout(), report.Table(columns(cmd.OutOrStdout())))
	if err := errors.Join(write(f.output, report.Write), write(f.markdown, func(w io.Writer) error {
		_, err := io.WriteString(w, report.Markdown()+notes)
		return err
	}), failure); err != nil {
		return err
	}
	missed := slices.ContainsFunc(report.Rows, func(r measure.Row) bool { return r.Met() == "no" })
	if (missed && !f.quick) || report.LostUpdates > 0 {
		return ErrMissed
	}
	return nil
}

// notesHeading begins what people say of the numbers, which is kept when they are measured again.
const notesHeading = "\n## What is missed, and why\n"

func notesIn(file string) (string, error) {
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("--markdown: the notes to keep: %w", err)
	}
	_, notes, found := strings.Cut(string(content), notesHeading)
	if !found {
		return "", nil
	}
	return notesHeading + notes, nil
}

// measure starts a control plane and measures on it. What was measured before an error is kept.
func (f *benchFlags) measure(ctx context.Context, progress io.Writer) (report measure.Report, err error) {
	t, err := target.Local(ctx, progress)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, t.Close(ctx)) }()
	report = measure.Report{
		Command: f.command(), Started: time.Now(), Rounds: f.rounds, Quick: f.quick, Environment: t.Environment(),
	}
	for _, part := range parts {
		if !f.wants(part) {
			continue
		}
		fmt.Fprintf(progress, "measuring %s\n", part)
		if err := f.part(ctx, t, part, &report, progress); err != nil {
			return report, fmt.Errorf("%s: %w", part, err)
		}
	}
	report.Took = time.Since(report.Started)
	return report, nil
}

func (f *benchFlags) part(ctx context.Context, t *target.Target, part string, report *measure.Report, progress io.Writer) error {
	var rows []measure.Row
	var err error
	switch part {
	case "contention", "processes":
		var rounds []contention.Round
		options := contention.Options{Catalogue: f.catalogue, Rounds: f.rounds, Quick: f.quick, Spread: part == "processes", Progress: progress}
		if rounds, err = contention.Run(ctx, t, options); err == nil {
			rows = contention.Rows(rounds)
			if options.Spread {
				rows = contention.SpreadRows(rounds)
			}
			report.Judged(contention.Judged(rounds))
		}
	case "width":
		var rounds []width.Round
		options := width.Options{Catalogue: f.catalogue, Rounds: f.rounds, Quick: f.quick, Progress: progress}
		if rounds, err = width.Run(ctx, t, options); err == nil {
			rows = width.Rows(rounds, f.quick)
			report.Judged(width.Judged(rounds))
		}
	case "requests":
		rows, err = requests.Measure(ctx, t, requests.Options{Rounds: f.rounds, Quick: f.quick, Progress: progress})
	case "micro":
		rows, err = micro.Measure(ctx, t, micro.Options{Rounds: f.rounds, Quick: f.quick, Progress: progress})
	case "scale":
		var result scale.Result
		if result, err = scale.Run(ctx, t.Admin(), f.objects(), progress); err == nil {
			rows = result.Rows()
		}
	}
	report.Rows = append(report.Rows, rows...)
	return err
}

// objects of a steady state.
func (f *benchFlags) objects() int {
	if f.quick {
		return 100
	}
	return 10_000
}

// command repeats the run.
func (f *benchFlags) command() string {
	words := []string{"compare bench"}
	if f.quick {
		words = append(words, "--quick")
	} else {
		words = append(words, fmt.Sprintf("--rounds %d", f.rounds))
	}
	if len(f.only) > 0 {
		words = append(words, "--only "+strings.Join(f.only, ","))
	}
	return strings.Join(words, " ")
}

// write writes a file; "" is none.
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

// columns are those of the terminal.
func columns(out io.Writer) int {
	const otherwise = 160
	if file, ok := out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil {
			return columns
		}
	}
	return otherwise
}
