// Command manager runs the reconcilers of platform/controllers against a cluster.
//
// A start goes through these steps, each with its own file, and ends at the first
// that fails with one line on stderr:
//
//  1. flags.go: the flags make sense together.
//  2. cluster.go: there is a kubeconfig, the API server answers, it serves our
//     kinds, and the Lease of the leader election can be written.
//  3. manager.go: the reconcilers run until a signal or an error ends them.
//
// Without these checks a wrong setting would show up as a manager that waits for ever.
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

// The exit codes.
const (
	exitOK     = 0 // stopped because it was asked to
	exitFailed = 1
	exitUsage  = 2
)

// run is the command. It returns when the context ends or something fails; a
// failure is the last line on stderr, after which nothing more is logged.
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
		SilenceErrors: true, // run prints them
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

// usageError is an error in the command line, as opposed to one of the cluster or the machine.
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

// version returns the version that the Go toolchain recorded in the binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}
