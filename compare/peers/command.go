package main

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
	"coapply.dev/compare/commands"
	"coapply.dev/compare/peers/arms"
	"coapply.dev/compare/peers/deployment"
	"coapply.dev/compare/peers/processes"
	"coapply.dev/compare/peers/scale"
)

// Exit codes, as those of compare: a must that is missed is exitFound.
const (
	exitDone        = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

var errMissed = errors.New("a must is missed")

// run is the command with its surroundings as arguments.
func run(args []string, in io.Reader, out, stderr io.Writer) int {
	klog.SetLogger(logr.Discard()) // what client libraries have to say comes back as errors
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	if scale.IsProcess() {
		return scale.Process(ctx, in, out, stderr)
	}
	if len(args) > 0 && args[0] == "compare" {
		return commands.Run(ctx, catalogue(), args[1:], commands.Streams{In: in, Out: out, Err: stderr})
	}
	root := newRoot()
	root.SetArgs(append([]string{}, args...))
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(stderr)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return exitDone
	case errors.Is(err, errMissed):
		return exitFound
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "peers: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintln(stderr, "peers:", strings.TrimSpace(err.Error()))
		return exitError
	}
}

// catalogue is what comes with compare, with the peers as arms and the Deployment as a workload more.
func catalogue() compare.Catalogue {
	c := commands.Catalogue()
	c.Arms = append(c.Arms, arms.All()...)
	c.Workloads = append(c.Workloads, deployment.Hot())
	return c
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "peers",
		Short: "Measure what coapply promises of speed, beside the ways that others take",
		Example: `  peers bench                                   # all measures: minutes, on a local control plane
  peers bench --only requests,micro --rounds 3
  peers compare run --workload hot-deployment --arms ssa,lanes,flux-ssa --writers 1,16 --trials 6`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(benchCommand(), &cobra.Command{
		Use: "compare", Short: "The command compare, with the peers as arms and Deployments as a workload",
		DisableFlagParsing: true, Run: func(*cobra.Command, []string) {}, // run has it
	}, &cobra.Command{
		Use: processes.Command, Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return processes.Serve(cmd.Context(), catalogue(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	})
	return root
}
