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
	"k8s.io/cli-runtime/pkg/genericiooptions"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the credential plugins that kubeconfigs name
	"k8s.io/klog/v2"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// The exit codes of kubectl diff, and a shell's for an interrupt.
const (
	exitNothing     = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

func main() {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	klog.SetLogger(logr.Discard()) // what client libraries have to say comes back as errors
	root := newRoot(genericiooptions.IOStreams{In: stdin, Out: stdout, ErrOut: stderr})
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	return exitCode(ctx, root.ExecuteContext(ctx), stderr)
}

// errFound ends a command that found what it looks for. What that is stands on
// stdout already.
var errFound = errors.New("found")

// errSaid ends a command that has said on stderr what went wrong.
var errSaid = errors.New("said")

func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return exitNothing
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, errSaid):
		return exitError
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, oneLine(err))
	return exitError
}

// oneLine says what is wrong the way kubectl does.
func oneLine(err error) string {
	text, known := cmdutil.StandardErrorMessage(err)
	if !known {
		text = err.Error()
	}
	if !strings.HasPrefix(text, "error: ") && !strings.HasPrefix(text, "Error from server") && !strings.HasPrefix(text, "The connection") {
		text = "error: " + text
	}
	return strings.Join(strings.Fields(text), " ")
}

// usageError says what is wrong with the command line and where to read more.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%w; see %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}
