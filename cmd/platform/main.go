// Command platform runs coapply's example platform on a local control plane. It starts cmd/manager
// as a separate process, with only the rights of config/rbac.
//
//	platform demo    demonstrates step by step what coapply does, and checks each step
//	platform run     keeps the platform running, for use with kubectl
//	platform build   compiles the control plane if it is not compiled yet
//	platform clean   deletes the files of this command in the user's cache folder
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"coapply.dev/internal/flagerror"
	"coapply.dev/internal/localcluster"
)

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run runs the command line args and returns its exit code: 2 for a wrong command line, 130 for an
// interrupt. It prints an error as one line on stderr; only the error of a failed demo step has more lines.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	ctrllog.SetLogger(logr.Discard()) // no log is needed, because the clients return their errors
	cmd := newCommand()
	cmd.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "platform: interrupted; nothing is left running")
		return 130
	}
	fmt.Fprintln(stderr, "platform:", err)
	if wrong := (usageError{}); errors.As(err, &wrong) {
		return 2
	}
	return 1
}

type usageError struct{ error }

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "platform",
		Short: "Build, run and demonstrate the example platform on a local control plane",
		Long: `Build, run and demonstrate the example platform on a local control plane: a real etcd,
kube-apiserver, kube-controller-manager and kube-scheduler, with simulated nodes.
All servers listen on loopback only, and stop when this command ends.`,
		Example: `  platform demo              # under a minute, once built
  platform run --port 6443   # until Ctrl-C; prints how to use the platform with kubectl`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArguments,
		RunE: func(*cobra.Command, []string) error {
			return usageError{fmt.Errorf("name a command: demo, run, build or clean; see platform --help")}
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", flagerror.Plain(err), cmd.CommandPath())}
	})
	root.AddCommand(demoCommand(), runCommand(), buildCommand(), cleanCommand())
	for _, sub := range root.Commands() {
		sub.Args = noArguments
	}
	return root
}

func noArguments(cmd *cobra.Command, args []string) error {
	if err := cobra.NoArgs(cmd, args); err != nil {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	}
	return nil
}

func demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Demonstrate step by step what coapply does, and check each step",
		Long: `Start the platform, create objects of every kind, and show who owns which field,
what happens when a person or another controller wants to set the same field, and
that nothing is left behind. Each step checks what it shows. The first step whose
check fails ends the demo with exit code 1.`,
		Example: "  platform demo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
}

func runCommand() *cobra.Command {
	var options runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the platform running, for use with kubectl",
		Long: `Start the control plane and the manager, create the samples, and keep them running
until Ctrl-C. The first lines of output say how to use the platform with kubectl.`,
		Example: "  platform run\n  platform run --port 6443 --nodes 5 --replicas-conflict Reject",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return keepRunning(cmd.Context(), options, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().Uint16Var(&options.port, "port", 0, "loopback `port` of the API server, 0 for any free port")
	cmd.Flags().IntVar(&options.nodes, "nodes", demoNodes, "`number` of simulated nodes")
	cmd.Flags().StringVar(&options.replicasConflict, "replicas-conflict", "Force",
		"what the power reconciler does when another field manager owns the replicas: Reject or Force")
	return cmd
}

func buildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build",
		Short: "Compile the control plane if it is not compiled yet",
		Long: `Compile the control plane into the user's cache folder, and print the path of its kubectl.
The first time takes minutes. Other checkouts that pin the same versions use the same files.`,
		Example: "  platform build",
		RunE: func(cmd *cobra.Command, _ []string) error {
			binaries, err := localcluster.Ensure(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), binaries.Kubectl)
			return nil
		},
	}
}

func cleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Delete the files of this command in the user's cache folder",
		Long: `Delete the compiled control plane and the files of interrupted runs, and print the freed
space. Go's own caches stay: go clean -cache empties them.`,
		Example: "  platform clean",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return localcluster.Clean(cmd.Context(), cmd.OutOrStdout())
		},
	}
}
