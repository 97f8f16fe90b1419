package commands

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

// open gives the cluster to run on.
func (f *runFlags) open(ctx context.Context, cmd *cobra.Command, plan []results.PlannedCell) (*target.Target, error) {
	if !f.useKubeconfig {
		return target.Local(ctx, cmd.ErrOrStderr())
	}
	options := target.Options{Kubeconfig: f.kubeconfig, Context: f.inThis, Log: cmd.ErrOrStderr()}
	return target.Connect(ctx, options, func(question string) (bool, error) {
		if f.agree {
			return true, nil
		}
		f.agree = true // asked once, also if the cluster is connected to again
		return ask(cmd, fmt.Sprintf("%s It takes about %s.", question, bench.Estimate(plan).Round(time.Minute)))
	})
}

// ask is false for everything but a yes. Without a terminal there is nobody to ask.
func ask(cmd *cobra.Command, question string) (bool, error) {
	if file, ok := cmd.InOrStdin().(*os.File); ok && !term.IsTerminal(int(file.Fd())) {
		return false, errors.New("there is no terminal to ask on: say --yes if the benchmark may run on that cluster")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s Go on? [y/N] ", question)
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && answer == "" {
		return false, errors.New("no answer: nothing was done")
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// command is what repeats the run: the flags that were set, and the seed.
func (f *runFlags) command(cmd *cobra.Command, profile string) string {
	words := []string{"compare", "run"}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		switch value := strings.Trim(flag.Value.String(), "[]"); {
		case flag.Name == "seed" || flag.Name == "output" || flag.Name == "kubeconfig" || flag.Name == "yes":
		case flag.Value.Type() == "bool":
			words = append(words, "--"+flag.Name)
		default:
			words = append(words, "--"+flag.Name, value)
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
