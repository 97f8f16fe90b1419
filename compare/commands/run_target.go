package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"coapply.dev/compare/bench"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

func (f *runFlags) open(ctx context.Context, cmd *cobra.Command, plan []results.PlannedCell) (*target.Target, error) {
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
		f.agree = true // ask only once, even if the run reconnects to the cluster
		a, err := newAsker(cmd)
		if err != nil {
			return false, fmt.Errorf("%w: use --yes to permit the benchmark to run on this cluster", err)
		}
		return a.yes(ctx, fmt.Sprintf("%s It takes about %s. Go on?", question, takes(plan)))
	})
}

// takes returns the estimated time of a plan, rounded.
func takes(plan []results.PlannedCell) time.Duration {
	about := bench.Estimate(plan)
	if about < time.Minute {
		return about.Round(time.Second)
	}
	return about.Round(time.Minute)
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
