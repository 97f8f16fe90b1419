// Package console has what the commands share: streams, exit codes, flags, and printing.
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

// Name is the command by which people call the plugin.
const Name = "kubectl fieldowners"

// The exit codes of kubectl diff, and a shell's for an interrupt.
const (
	exitNothing     = 0
	exitFound       = 1
	exitError       = 2
	exitInterrupted = 130
)

var (
	// ErrFound is returned by a command that has printed findings.
	ErrFound = errors.New("found")
	// ErrSaid is returned by a command that has printed on stderr what went wrong.
	ErrSaid = errors.New("said")
)

// Console is the streams of a command, with settings for printing.
type Console struct {
	genericiooptions.IOStreams

	Color string // "auto", "always" or "never"
}

// Run runs a command and returns its exit code.
func Run(ctx context.Context, newRoot func(genericiooptions.IOStreams) *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	klog.SetLogger(logr.Discard()) // client libraries return errors
	out := &output{Writer: stdout}
	stderr = &StatusLine{Writer: stderr}
	root := newRoot(genericiooptions.IOStreams{In: stdin, Out: out, ErrOut: stderr})
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	if out.err != nil && (err == nil || errors.Is(err, ErrFound)) {
		err = fmt.Errorf("what was found could not be written: %w", out.err)
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

// OneLine returns an error's message as kubectl prints it, on one line.
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

// Say prints an error on stderr, if there is one, and reports whether there is.
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
