// Package bench plans and makes a run: it selects the cells, runs the trials in random order, and saves each trial as soon as
// it is measured.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options are the options of Run.
type Options struct {
	Catalogue compare.Catalogue
	Run       results.Run // set Command, Seed, Profile, Plan and Decided; Run sets the other fields
	Dir       string
	// Open returns the cluster for the run. It is called again if the local control plane dies during the run.
	Open func(context.Context) (*target.Target, error)
	// Progress receives the messages for the user. On a terminal, Run also shows a progress bar.
	Progress io.Writer
}

// ErrInterrupted means that the context ended before all trials were made. The trials so far are saved, and the run is marked
// as interrupted.
var ErrInterrupted = errors.New("interrupted")

// Run makes every trial of the plan and saves each in Dir as soon as it is measured. It returns ErrInterrupted if the context
// ends, and another error if no more trials can be measured or saved. The trials so far are in Dir.
func Run(ctx context.Context, options Options) error {
	return run(ctx, options, openTarget(options.Open), func(dir string, r results.Run) (folder, error) {
		return results.Create(dir, r)
	})
}

func run(ctx context.Context, options Options, open opener, create creator) (err error) {
	release, err := claim(options.Dir)
	if err != nil {
		return err
	}
	defer release()
	c, err := open(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w before anything was measured: %w", ErrInterrupted, err)
		}
		return err
	}
	b := &bench{Options: options, cluster: c, open: open, seen: map[string]bool{}}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.begin(ctx, create); err != nil {
		return err
	}
	steps := order(b.Run.Plan, b.Run.Seed)
	b.progress = startProgress(options.Progress, b.Run.Plan, steps)
	heard := context.AfterFunc(ctx, func() {
		b.progress.say("interrupted: the trial ends, and all results so far are kept; a second signal ends the process at once")
	})
	defer heard()
	err = b.trials(ctx, steps)
	err = errors.Join(err, b.end(ctx, err))
	b.progress.stop()
	return err
}

type bench struct {
	Options

	open     opener
	cluster  cluster // nil if starting another control plane failed
	folder   folder
	progress *progress
	measured int             // number of saved trials that are not void
	seen     map[string]bool // cells and arms of which a history was cross-checked
}

// begin saves the run before anything is measured.
func (b *bench) begin(ctx context.Context, create creator) error {
	if err := b.leaveOut(ctx); err != nil {
		return err
	}
	run := &b.Run
	run.Schema, run.Started, run.Environment = results.Schema, time.Now().UTC(), b.cluster.Environment()
	b.describe()
	var err error
	b.folder, err = create(b.Dir, *run)
	return err
}

// describe stores descriptions of the plan's arms and workloads in the run, for the report.
func (b *bench) describe() {
	arms, workloads := map[string]bool{}, map[string]bool{}
	for _, cell := range b.Run.Plan {
		workloads[cell.Workload] = true
		for _, arm := range cell.Arms {
			arms[arm] = true
		}
	}
	for _, arm := range b.Catalogue.Arms {
		if arms[arm.Name] {
			b.Run.Arms = append(b.Run.Arms, results.ArmInfo{Name: arm.Name, Summary: arm.Summary})
		}
	}
	for _, w := range b.Catalogue.Workloads {
		if workloads[w.Name] {
			b.Run.Workloads = append(b.Run.Workloads, results.WorkloadInfo{
				Name: w.Name, Summary: w.Summary, Demonstration: w.Demonstration, Claims: w.Claims,
			})
		}
	}
}

// voidsInARow is the number of consecutive void trials after which a run ends, because the cause seems permanent. A
// single arm cannot be the cause, because the trials of different arms alternate.
const voidsInARow = 10

func (b *bench) trials(ctx context.Context, steps []step) error {
	voids := 0
	for number, s := range steps {
		if ctx.Err() != nil {
			return b.interrupted(len(steps))
		}
		b.progress.begin(number, b.Run.Plan[s.cell].Cell, s)
		recorded, err := b.cluster.measure(ctx, b.spec(number, s))
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil: // the context has ended, and nothing was measured
			return b.interrupted(len(steps))
		}
		if err := b.keep(ctx, recorded); err != nil {
			return err
		}
		b.progress.end(recorded.Trial)
		if recorded.Trial.Void == "" {
			voids = 0
			continue
		}
		if err := b.afterVoid(ctx); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return b.interrupted(len(steps))
		}
		if voids++; voids == voidsInARow {
			return fmt.Errorf("the last %d trials are all void; trial %s is void because: %s; all trials so far are saved",
				voids, recorded.Trial.ID, recorded.Trial.Void)
		}
	}
	return nil
}

func (b *bench) interrupted(planned int) error {
	return fmt.Errorf("%w after %d of %d trials", ErrInterrupted, b.measured, planned)
}

func (b *bench) spec(number int, s step) trial.Spec {
	cell := b.Run.Plan[s.cell].Cell
	arm, _ := b.Catalogue.Arm(s.arm) // exists, because the plan was checked
	workload, _ := b.Catalogue.Workload(cell.Workload)
	return trial.Spec{
		ID: s.id(number, cell), Cell: cell, Arm: arm, Workload: workload, AA: s.aa, Block: s.block, Order: number,
		Seed: s.seed, CrossCheck: !b.seen[sample(cell, s.arm)],
	}
}

// sample returns the key for an arm in a cell. One history is saved for each key.
func sample(cell compare.Cell, arm string) string { return cell.String() + " " + arm }

// end saves how the run ended. failure is the error with which the trials ended, or nil.
func (b *bench) end(ctx context.Context, failure error) error {
	now := time.Now().UTC()
	b.Run.Ended = &now
	switch {
	case errors.Is(failure, ErrInterrupted):
		b.Run.Interrupted = "Ctrl-C or another signal ended the run"
	case failure != nil:
		b.Run.Interrupted = failure.Error()
	}
	save := func() error { return b.folder.SaveRun(b.Run) }
	if isFull(failure) { // the run has already waited for space
		return errors.Join(save(), b.folder.Close())
	}
	return errors.Join(b.withRoom(ctx, save), b.folder.Close())
}
