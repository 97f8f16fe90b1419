package commands

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"coapply.dev/compare"
	"coapply.dev/compare/bench"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
)

type runFlags struct {
	profile              string
	cells                bench.Sweep
	seed                 uint64
	dir                  string
	kubeconfig, inThis   string
	useKubeconfig, agree bool
}

func runCommand(catalogue compare.Catalogue) *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run {--profile NAME | --workload NAME ...}",
		Short: "Measure, and write a folder with the report and its data",
		Long: `Measure, and write a folder with the report and its data.

The command starts a control plane of its own on this machine (the first run takes minutes to
build it), or uses the cluster of --kubeconfig. On that cluster, the command asks for permission,
works in a namespace of its own, and deletes the objects that it created.

Ctrl-C ends a run early: the results so far are kept, and the report mentions the interruption.`,
		Example: `  compare run --profile quick
  compare run --profile review -o review
  compare run --workload hot-object --arms gmu-unbounded,ssa,apply --writers 1,8,32 --managers 1,8 --trials 10
  compare run --workload hot-object --rtt 5ms --rate 50 --trials 6    # open loop, 50 intents a second
  compare run --workload increment --kubeconfig ~/.kube/config --context staging`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd, catalogue) },
	}
	f.add(cmd)
	return cmd
}

func (f *runFlags) add(cmd *cobra.Command) {
	flags, s := cmd.Flags(), &f.cells
	flags.StringVar(&f.profile, "profile", "", "what to measure: quick (every workload briefly, 3 minutes), review (for a design review,\n"+
		"up to two hours) or performance (Server-Side Apply with and without coapply, an hour)")
	flags.StringSliceVar(&s.Workloads, "workload", nil, "workloads to run; see compare list")
	flags.StringSliceVar(&s.Arms, "arms", nil, "arms to run; the first arm is the baseline; default: the arms of the workload")
	flags.IntSliceVar(&s.Writers, "writers", nil, "numbers of goroutines that write concurrently, over all processes")
	flags.IntSliceVar(&s.Processes, "processes", nil, "numbers of processes that the writers are spread over")
	flags.IntSliceVar(&s.Objects, "objects", nil, "numbers of objects written to")
	flags.IntSliceVar(&s.Managers, "managers", nil, "numbers of field managers on each object")
	flags.DurationSliceVar(&s.RTT, "rtt", nil, "round-trip times to add to every request, such as 5ms")
	flags.Float64Var(&s.Rate, "rate", 0, "intents per second that arrive in an open loop; 0 means a closed loop")
	flags.IntVar(&s.Rounds, "rounds", 0, "end a trial after this number of intents of each writer, instead of after --duration")
	flags.DurationVar(&s.Warmup, "warmup", 300*time.Millisecond, "time at the start of a trial that is not measured")
	flags.DurationVar(&s.Duration, "duration", 1500*time.Millisecond, "time that is measured, after the warm-up of a trial")
	flags.IntVar(&s.Trials, "trials", 10, "number of trials of each arm in each cell; a verdict needs at least 6")
	flags.Uint64Var(&f.seed, "seed", 0, "seed for the order of trials and all random numbers; 0 means a random seed")
	flags.StringVarP(&f.dir, "output", "o", "", "folder for the results; default: compare-DATE-TIME")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "run on the cluster of this kubeconfig instead of a local control plane")
	flags.StringVar(&f.inThis, "context", "", "context of the kubeconfig")
	flags.BoolVarP(&f.agree, "yes", "y", false, "with --kubeconfig: do not ask for permission")
	cmd.MarkFlagsOneRequired("profile", "workload")
	for _, name := range []string{
		"workload", "arms", "writers", "objects", "processes", "managers", "rtt", "rate", "rounds", "warmup", "duration", "trials",
	} {
		cmd.MarkFlagsMutuallyExclusive("profile", name)
	}
}

func (f *runFlags) run(cmd *cobra.Command, catalogue compare.Catalogue) error {
	profile, plan, err := f.plan(cmd, catalogue)
	if err != nil {
		return err
	}
	if f.seed == 0 {
		f.seed = uint64(rand.Uint32()) + 1
	}
	if f.dir == "" {
		f.dir = "compare-" + time.Now().Format("20060102-150405")
	}
	stderr := cmd.ErrOrStderr()
	options := bench.Options{
		Catalogue: catalogue, Dir: f.dir, Progress: stderr,
		Open: func(ctx context.Context) (*target.Target, error) { return f.open(ctx, cmd) },
		Run: results.Run{
			Command: f.command(cmd, profile), Seed: f.seed, Profile: profile, Plan: plan, Decided: decided.Hash(),
		},
	}
	failure := bench.Run(cmd.Context(), options)
	if _, _, err := results.Load(f.dir); err != nil && failure != nil {
		return failure // there are no results to report
	}
	void, err := render(cmd.OutOrStdout(), f.dir)
	switch {
	case failure != nil || err != nil:
		return errors.Join(failure, err)
	case void:
		return errFound
	}
	return nil
}

// plan returns the name of the profile and the cells to measure, from the flags.
func (f *runFlags) plan(cmd *cobra.Command, catalogue compare.Catalogue) (string, []results.PlannedCell, error) {
	for _, name := range []string{"kubeconfig", "context"} {
		given := cmd.Flags().Changed(name)
		if f.useKubeconfig = f.useKubeconfig || given; given && cmd.Flag(name).Value.String() == "" { // such as a shell variable that is not set
			return "", nil, fmt.Errorf("--%s is empty: set a value, or leave the flag out", name)
		}
	}
	if f.profile != "" {
		if !slices.Contains(bench.Profiles, f.profile) {
			return "", nil, fmt.Errorf("there is no profile %q; use %s", f.profile, strings.Join(bench.Profiles, ", "))
		}
		plan := bench.Plan(catalogue, f.profile)
		if f.useKubeconfig {
			plan = bench.WithoutLocal(plan, catalogue)
		}
		return f.profile, plan, nil
	}
	if err := f.known(catalogue); err != nil {
		return "", nil, err
	}
	plan, err := f.cells.Plan(catalogue, cmd.Flags().Changed)
	if err == nil && f.useKubeconfig {
		err = bench.CheckForeign(plan, catalogue)
	}
	return bench.Custom, plan, err
}

// known returns an error if a workload or an arm does not exist.
func (f *runFlags) known(catalogue compare.Catalogue) error {
	for _, name := range f.cells.Workloads {
		if _, found := catalogue.Workload(name); !found {
			return fmt.Errorf("there is no workload %q; see compare list", name)
		}
	}
	for _, name := range f.cells.Arms {
		if _, found := catalogue.Arm(name); !found {
			return fmt.Errorf("there is no arm %q; see compare list", name)
		}
	}
	return nil
}
