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

var errNobody = errors.New("standard input is not a terminal, so no question can be asked")

// asker asks the user questions on the terminal. All questions share one buffer, so that no input is lost.
type asker struct {
	cmd *cobra.Command
	in  *bufio.Reader
}

// newAsker returns an error if the standard input is not a terminal.
func newAsker(cmd *cobra.Command) (*asker, error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return nil, errNobody
	}
	return &asker{cmd: cmd, in: bufio.NewReader(cmd.InOrStdin())}, nil
}

func (a *asker) yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprint(a.cmd.ErrOrStderr(), wrapped(a.cmd.ErrOrStderr(), question+" [y/N]"), " ")
	type line struct {
		text string
		err  error
	}
	answered := make(chan line, 1)
	go func() { // a read cannot be cancelled: after an interruption, this goroutine waits until the process ends
		text, err := a.in.ReadString('\n')
		answered <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(a.cmd.ErrOrStderr())
		return false, context.Cause(ctx)
	case answer := <-answered:
		if answer.err != nil && answer.text == "" {
			return false, errors.New("the question was not answered, so nothing was done")
		}
		text := strings.ToLower(strings.TrimSpace(answer.text))
		return text == "y" || text == "yes", nil
	}
}
