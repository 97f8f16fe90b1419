package commands

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func asking(in io.Reader) (*cobra.Command, *bytes.Buffer) {
	cmd, asked := &cobra.Command{}, &bytes.Buffer{}
	cmd.SetIn(in)
	cmd.SetErr(asked)
	return cmd, asked
}

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "YES\n": true, "yes \r\n": true, "y": true, "n\n": false, "\n": false, "yep\n": false, "ja\n": false, "": false,
	} {
		cmd, asked := asking(strings.NewReader(answer))
		if got, err := ask(t.Context(), cmd, "Go on?"); got != want || err != nil || asked.String() != "Go on? [y/N] " {
			t.Errorf("%q: %v, %v; asked %q", answer, got, err, asked)
		}
	}
}

// Ctrl-C at a question ends at once, though nothing can be read.
func TestInterruptedQuestion(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cmd, _ := asking(silent)
	if _, err := ask(ctx, cmd, "Go on?"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNobodyToAsk(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd, _ := asking(null)
	if _, err := ask(t.Context(), cmd, "Go on?"); err == nil || !strings.Contains(err.Error(), "--yes") {
		t.Error(err)
	}
}
