// Package console contains the common parts of the plugin's commands: input and output streams, exit
// codes, flags, and printing.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"

	"coapply.dev/cmd/kubectl-fieldowners/internal/view"
)

// Name is the command that users type to run the plugin.
const Name = "kubectl fieldowners"

// The exit codes of kubectl diff, and the exit code that a shell uses after an interrupt.
const (
	exitNothing     = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

var (
	// ErrFound is returned by a command that has printed findings. Run then returns exit code 1.
	ErrFound = errors.New("found")
	// ErrSaid is returned by a command that has already printed its errors on stderr. Run then prints
	// nothing more, and returns exit code 2.
	ErrSaid = errors.New("said")
)

// Console contains the input and output streams of a command, and its colour setting.
type Console struct {
	genericiooptions.IOStreams

	Color string // "auto", "always" or "never"
}

// Run runs the command line args, prints its error on stderr if there is one, and returns its exit code.
func Run(ctx context.Context, newRoot func(genericiooptions.IOStreams) *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	klog.SetLogger(logr.Discard()) // client libraries log errors that they also return
	out := &output{Writer: stdout}
	stderr = &StatusLine{Writer: stderr}
	root := newRoot(genericiooptions.IOStreams{In: stdin, Out: out, ErrOut: stderr})
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	if out.err != nil && (err == nil || errors.Is(err, ErrFound)) {
		err = fmt.Errorf("writing the output: %w", out.err)
	}
	return exitCode(ctx, err, stderr)
}

func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return exitNothing
	case errors.Is(err, ErrFound):
		return exitFound
	case errors.Is(err, ErrSaid):
		return exitError
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, OneLine(err))
	return exitError
}

// OneLine returns the message of an error on one line, as kubectl prints errors.
func OneLine(err error) string {
	text, known := cmdutil.StandardErrorMessage(err)
	if !known {
		text = err.Error()
	}
	if !strings.HasPrefix(text, "error: ") && !strings.HasPrefix(text, "Error from server") && !strings.HasPrefix(text, "The connection") {
		text = "error: " + text
	}
	return view.Visible(strings.Join(strings.Fields(text), " "))
}

// Say prints err on stderr, unless err is nil or ErrSaid. It reports whether err is not nil.
func (c *Console) Say(err error) bool {
	var several utilerrors.Aggregate
	switch {
	case err == nil:
		return false
	case errors.As(err, &several):
		for _, one := range several.Errors() {
			c.Say(one)
		}
	case !errors.Is(err, ErrSaid):
		fmt.Fprintln(c.ErrOut, OneLine(err))
	}
	return true
}
