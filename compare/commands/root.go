// Package commands implements the command line of the benchmark. To measure arms and workloads of your own together with those
// of the benchmark, write a main function that calls Main with a longer Catalogue, as compare/examples/mine does.
package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"coapply.dev/compare"
	"coapply.dev/compare/arms"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
	"coapply.dev/compare/workloads"
	"coapply.dev/internal/flagerror"
)

// The exit codes. exitFound means that a run is void.
const (
	exitDone        = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

// Catalogue returns the arms and workloads of the benchmark.
func Catalogue() compare.Catalogue {
	return compare.Catalogue{Arms: arms.All(), Workloads: workloads.All()}
}

// Main runs the command compare with the arms and workloads of the catalogue, and returns the exit code. The exit
// code is 0 for success, 1 if a run is void, 2 for an error, and 130 for an interruption.
func Main(catalogue compare.Catalogue) int {
	klog.SetLogger(logr.Discard()) // client libraries also return their problems as errors
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // then a second signal ends the process at once
	return Run(ctx, catalogue, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Streams are the standard input, output and error output of a command.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run is like Main, but with the command's arguments and streams as parameters.
func Run(ctx context.Context, catalogue compare.Catalogue, args []string, streams Streams) int {
	if err := catalogue.Check(); err != nil {
		fmt.Fprintln(streams.Err, "compare:", err)
		return exitError
	}
	root := newRoot(catalogue, streams)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	return exitCode(root.ExecuteContext(ctx), streams.Err)
}

// errFound means that a command has found and printed a void run. The exit code is then 1.
var errFound = errors.New("found")

func exitCode(err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, bench.ErrInterrupted), errors.Is(err, context.Canceled):
		fmt.Fprintln(stderr, "compare:", err)
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "compare:", strings.TrimSpace(err.Error()))
	return exitError
}

func newRoot(catalogue compare.Catalogue, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "compare",
		Short: "Measure Server-Side Apply against get-modify-update under contention",
		Long: `Measure Server-Side Apply against get-modify-update under contention, on a real API server,
and count every lost update. A run writes a folder with a report for a design review
(report.html), the same report as text (report.md), and the data of the report.`,
		Example: `  compare run --profile quick               # under three minutes, on a local control plane
  compare run --profile review -o review    # up to two hours, for a design review
  compare run --workload hot-object --arms gmu-default-retry,ssa --writers 1,8,32 --trials 10
  compare render review                     # the report again, from the data
  compare advise --update --repeatable      # the protections that a write needs`,
		Version:       target.Commit(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see %s --help", flagerror.Plain(err), cmd.CommandPath())
	})
	root.AddCommand(runCommand(catalogue), renderCommand(), listCommand(catalogue), adviseCommand(), writersCommand(catalogue))
	return root
}

// writersCommand returns the hidden command that a trial in several processes starts for its writers.
func writersCommand(catalogue compare.Catalogue) *cobra.Command {
	return &cobra.Command{
		Use: trial.Command, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return trial.Serve(cmd.Context(), catalogue, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
