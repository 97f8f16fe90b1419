// Command manager runs the reconcilers of platform/controllers against a cluster.
//
// The manager starts in these steps, each in its own file. If a step fails, the manager writes one line to stderr and ends:
//
//  1. flags.go: check that the flags are valid and do not contradict each other.
//  2. cluster.go: check that there is a kubeconfig, that the API server responds and serves the
//     platform's kinds, and that the Lease of the leader election can be written.
//  3. manager.go: run the reconcilers until a signal or an error.
//
// Without these checks a manager with a wrong setting would wait forever.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"coapply.dev/internal/flagerror"
)

func main() {
	os.Exit(run(ctrl.SetupSignalHandler(), os.Args[1:], os.Stdout, os.Stderr))
}

// The exit codes of the manager.
const (
	exitOK     = 0 // stopped by a signal
	exitFailed = 1
	exitUsage  = 2
)

// run runs the manager with the command-line arguments args until ctx ends or an error occurs, and
// returns the exit code. The error is the last line on stderr; nothing is logged after it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	out := &lastWord{w: stderr}
	cmd := newCommand(out)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	cmd.SetOut(stdout)
	cmd.SetErr(out)
	err := cmd.ExecuteContext(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, context.Canceled) {
		out.say("")
		return exitOK
	}
	line := "manager: " + oneLine(err)
	if usage := (usageError{}); errors.As(err, &usage) {
		out.say(line + "; see manager --help\n")
		return exitUsage
	}
	out.say(line + "\n")
	return exitFailed
}

func newCommand(stderr io.Writer) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:           "manager",
		Short:         "Run the reconcilers of the coapply example platform",
		Long:          longHelp(),
		Example:       examples,
		Version:       version(),
		SilenceErrors: true, // cobra must not print the error, because run prints it
		SilenceUsage:  true,
		Args: func(cmd *cobra.Command, args []string) error {
			return asUsageError(cobra.NoArgs(cmd, args))
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			selected, err := o.validate(cmd.Flags().Changed)
			if err != nil {
				return err
			}
			return o.serve(cmd.Context(), selected, stderr)
		},
	}
	o.addFlags(cmd.Flags())
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return asUsageError(flagerror.Plain(err)) })
	cmd.SetUsageTemplate(strings.ReplaceAll(cmd.UsageTemplate(), ".LocalFlags.FlagUsages", ".LocalFlags.FlagUsagesWrapped 100"))
	completeFlags(cmd)
	return cmd
}

// usageError is an error in the command line. The manager then exits with exitUsage.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func asUsageError(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// version returns the module version that the Go toolchain recorded in this binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
