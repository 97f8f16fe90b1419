package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/target"
)

func (f *runFlags) open(ctx context.Context, cmd *cobra.Command) (*target.Target, error) {
	if !f.useKubeconfig {
		t, err := target.Local(ctx, cmd.ErrOrStderr())
		if err == nil {
			t.Pin()
		}
		return t, err
	}
	options := target.Options{Kubeconfig: f.kubeconfig, Context: f.inThis, Log: cmd.ErrOrStderr()}
	return target.Connect(ctx, options, func(question string) (bool, error) {
		if f.agree {
			return true, nil
		}
		return ask(ctx, cmd, question+" Go on?")
	})
}

// ask asks the user a question on the terminal.
func ask(ctx context.Context, cmd *cobra.Command, question string) (yes bool, err error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return false, errors.New("standard input is not a terminal, so no question can be asked: use --yes to permit the benchmark to run on this cluster")
	}
	fmt.Fprint(cmd.ErrOrStderr(), question, " [y/N] ")
	answer := make(chan string, 1)
	go func() { // a read cannot be cancelled: after an interruption, this goroutine waits until the process ends
		line, _ := bufio.NewReader(cmd.InOrStdin()).ReadString('\n') // after an error, the line is no yes
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return false, context.Cause(ctx)
	case line := <-answer:
		return line == "y" || line == "yes", nil
	}
}

// command returns the command that repeats the run, with the flags that were set and the seed.
func (f *runFlags) command(cmd *cobra.Command, profile string) string {
	words := []string{"compare", "run"}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains([]string{"seed", "output", "kubeconfig", "yes"}, flag.Name) {
			words = append(words, "--"+flag.Name, strings.Trim(flag.Value.String(), "[]"))
		}
	})
	if f.useKubeconfig {
		words = append(words, "--kubeconfig", "KUBECONFIG")
	}
	if profile == bench.Custom && !cmd.Flags().Changed("trials") {
		words = append(words, "--trials", fmt.Sprint(f.cells.Trials))
	}
	return strings.Join(append(words, "--seed", fmt.Sprint(f.seed)), " ")
}
