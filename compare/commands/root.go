// Package commands is the command line of the benchmark. It stands apart from cmd/compare so that arms and workloads of
// your own can be measured beside those that come with it: a main of your own calls Main with a longer Catalogue.
// compare/examples/mine is one.
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
	"coapply.dev/compare/trial"
	"coapply.dev/compare/workloads"
)

// Exit codes: a run that is void, or a diff that found a change, is exitFound.
const (
	exitDone        = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

// Catalogue is the arms and workloads that come with the benchmark, to add to.
func Catalogue() compare.Catalogue {
	return compare.Catalogue{Arms: arms.All(), Workloads: workloads.All()}
}

// Main is the command compare with the arms and workloads of a catalogue. It returns the exit code: 0 done, 1 a run that
// is void or a difference that was found, 2 an error, 130 interrupted.
func Main(catalogue compare.Catalogue) int {
	klog.SetLogger(logr.Discard()) // what client libraries have to say comes back as errors
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	return Run(ctx, catalogue, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
}

// Streams are what a command reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Run is Main with its surroundings as arguments.
func Run(ctx context.Context, catalogue compare.Catalogue, args []string, streams Streams) int {
	if err := catalogue.Check(); err != nil {
		fmt.Fprintln(streams.Err, "compare:", err)
		return exitError
	}
	root := newRoot(catalogue, streams)
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	return exitCode(root.ExecuteContext(ctx), streams.Err)
}

// errFound ends a command that found what it looks for. What that is has been said.
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

const commandNames = "run, render, diff, list, advise or bench"

func newRoot(catalogue compare.Catalogue, streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:   "compare",
		Short: "Measure Server-Side Apply against get-modify-update under contention",
		Long: `Measure Server-Side Apply against get-modify-update under contention, on a real API server,
with every lost update counted. A run leaves a folder with a report for a design review
(report.html), the same as text (report.md), and all data it rests on.`,
		Example: `  compare run --quick                       # under three minutes, on a local control plane
  compare run --review -o review            # three quarters of an hour: what a design review needs
  compare run --workload hot-object --arms gmu-default-retry,ssa --writers 1,8,32 --trials 10
  compare render review                     # the report again, from the data
  compare advise review --writers 16 --managers 4`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			return errors.New("which command? Use " + commandNames + ", or see compare --help")
		},
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	root.SetFlagErrorFunc(badFlag)
	root.AddCommand(runCommand(catalogue), renderCommand(), diffCommand(), listCommand(catalogue), adviseCommand(),
		benchCommand(withBench(catalogue)), writersCommand(withBench(catalogue)))
	return root
}

// writersCommand is a process of writers, which a trial in several processes starts.
func writersCommand(catalogue compare.Catalogue) *cobra.Command {
	return &cobra.Command{
		Use: trial.Command, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return trial.Serve(cmd.Context(), catalogue, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
