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

func askerOf(t *testing.T, in io.Reader) (*asker, *bytes.Buffer) {
	t.Helper()
	cmd, asked := &cobra.Command{}, &bytes.Buffer{}
	cmd.SetIn(in)
	cmd.SetErr(asked)
	a, err := newAsker(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return a, asked
}

func TestOnlyYesIsYes(t *testing.T) {
	for answer, want := range map[string]bool{
		"y\n": true, "YES\n": true, "yes \r\n": true, "y": true, "n\n": false, "\n": false, "yep\n": false, "ja\n": false,
	} {
		a, asked := askerOf(t, strings.NewReader(answer))
		if got, err := a.yes(t.Context(), "Go on?"); got != want || err != nil || asked.String() != "Go on? [y/N] " {
			t.Errorf("%q: %v, %v; asked %q", answer, got, err, asked)
		}
	}
	a, _ := askerOf(t, strings.NewReader(""))
	if _, err := a.yes(t.Context(), "Go on?"); err == nil || !strings.Contains(err.Error(), "the question was not answered, so nothing was done") {
		t.Errorf("the end of the input: %v", err)
	}
}

// Ctrl-C at a question ends at once, though nothing can be read.
func TestInterruptedQuestion(t *testing.T) {
	silent, writer := io.Pipe()
	defer writer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, _ := askerOf(t, silent)
	if _, err := a.yes(ctx, "Go on?"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNobodyToAsk(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	cmd := &cobra.Command{}
	cmd.SetIn(null)
	if _, err := newAsker(cmd); !errors.Is(err, errNobody) {
		t.Error(err)
	}
}

// advise asks its four questions one after another.
func TestAdviseAsks(t *testing.T) {
	var out, asked bytes.Buffer
	code := Run(t.Context(), Catalogue(), []string{"advise"}, Streams{In: strings.NewReader("n\ny\ny\nn\n"), Out: &out, Err: &asked})
	if code != exitDone || strings.Count(asked.String(), "[y/N]") != 4 {
		t.Errorf("%d, %q", code, &asked)
	}
	for _, want := range []string{"deep copy        no", "resourceVersion  yes", "retry            yes", "expectations     no"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%s", want, &out)
		}
	}
	asked.Reset()
	if code = Run(t.Context(), Catalogue(), []string{"advise"}, Streams{In: strings.NewReader("y\n"), Err: &asked}); code != exitError {
		t.Errorf("the end of the input at the second question: %d, %q", code, &asked)
	}
}
