package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// errNobody says that there is no terminal to ask on.
var errNobody = errors.New("there is no terminal to ask on")

// asker puts questions to who started the command. What was read ahead for one is there for the next.
type asker struct {
	cmd *cobra.Command
	in  *bufio.Reader
}

// newAsker fails where there is nobody to ask.
func newAsker(cmd *cobra.Command) (*asker, error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return nil, errNobody
	}
	return &asker{cmd: cmd, in: bufio.NewReader(cmd.InOrStdin())}, nil
}

// yes is false for everything but a yes.
func (a *asker) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.cmd.ErrOrStderr(), wrapped(a.cmd.ErrOrStderr(), question+" [y/N]"), " ")
	type line struct {
		text string
		err  error
	}
	answered := make(chan line, 1)
	go func() { // reading cannot be ended: after an interruption this waits until the process ends
		text, err := a.in.ReadString('\n')
		answered <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.cmd.ErrOrStderr())
		return false, context.Cause(ctx)
	case answer := <-answered:
		if answer.err != nil && answer.text == "" {
			return false, errors.New("no answer: nothing was done")
		}
		text := strings.ToLower(strings.TrimSpace(answer.text))
		return text == "y" || text == "yes", nil
	}
}
