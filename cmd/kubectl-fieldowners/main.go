package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
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

	_ "coapply.dev/cmd/kubectl-fieldowners/internal/english" // kubectl loads no translations
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// The exit codes of kubectl diff, one of our own, and a shell's for an interrupt.
const (
	exitNothing     = 0
	exitFound       = 1
	exitError       = 2
	exitUnsure      = 3
	exitInterrupted = 130
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends what does not heed the first
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the command.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	klog.SetLogger(logr.Discard()) // what client libraries have to say comes back as errors
	out := &output{Writer: stdout}
	stderr = &statusLine{Writer: stderr}
	root := newRoot(genericiooptions.IOStreams{In: stdin, Out: out, ErrOut: stderr})
	root.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := root.ExecuteContext(ctx)
	if out.err != nil && (err == nil || errors.Is(err, errFound) || errors.Is(err, errUnsure)) {
		err = fmt.Errorf("what was found could not be written: %w", out.err)
	}
	return exitCode(ctx, err, stderr)
}

// output remembers that something could not be written: half an answer is none.
type output struct {
	io.Writer

	err error
}

func (o *output) Write(text []byte) (int, error) {
	n, err := o.Writer.Write(text)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// errFound ends a command that found what it looks for. What that is stands on
// stdout already.
var errFound = errors.New("found")

// errUnsure ends a command that found nothing, but cannot be certain of it. What is
// open stands on stdout already.
var errUnsure = errors.New("not certain")

// errSaid ends a command that has said on stderr what went wrong.
var errSaid = errors.New("said")

func exitCode(ctx context.Context, err error, stderr io.Writer) int {
	switch {
	case err == nil:
		return exitNothing
	case errors.Is(err, errFound):
		return exitFound
	case errors.Is(err, errUnsure):
		return exitUnsure
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
	return ownerview.Visible(strings.Join(strings.Fields(text), " "))
}

// unreachable returns the error of an API server that could not be asked, for which no
// file is to blame; nil if it is another one.
func unreachable(err error) error {
	if address := (*url.Error)(nil); errors.As(err, &address) {
		return address
	}
	return nil
}

// usageError says what is wrong with the command line and where to read more.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fmt.Errorf("%w; see %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}
