// Package bench plans and makes a run: it selects the cells, runs the trials in random order, and saves each trial as soon as
// it is measured.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options are the options of Run.
type Options struct {
	Catalogue compare.Catalogue
	Run       results.Run // set Command, Seed, Profile, Plan and Decided; Run sets the other fields
	Dir       string
	// Open returns the cluster for the run.
	Open func(context.Context) (*target.Target, error)
	// Progress receives a line for each trial.
	Progress io.Writer
}

// ErrInterrupted means that the context ended before all trials were made. The trials so far are saved, and the run is marked
// as interrupted.
var ErrInterrupted = errors.New("interrupted")

// Run makes every trial of the plan and saves each in Dir as soon as it is measured. It returns ErrInterrupted if the context
// ends, and another error if no more trials can be measured or saved. The trials so far are in Dir.
func Run(ctx context.Context, options Options) error {
	return run(ctx, options, func(ctx context.Context) (cluster, error) {
		t, err := options.Open(ctx)
		if err != nil {
			return nil, err
		}
		return onTarget{t, &trial.Pool{}}, nil
	})
}

func run(ctx context.Context, options Options, open func(context.Context) (cluster, error)) error {
	folder, err := results.Create(options.Dir)
	if err != nil {
		return err
	}
	c, err := open(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(fmt.Errorf("%w before anything was measured: %w", ErrInterrupted, err), folder.Discard())
	case err != nil:
		return errors.Join(err, folder.Discard())
	}
	b := &bench{Options: options, cluster: c, folder: folder}
	return errors.Join(b.run(ctx), c.Close(ctx), folder.Close())
}

type bench struct {
	Options

	cluster  cluster
	folder   *results.Folder
	measured int // number of saved trials that are not void
}

func (b *bench) run(ctx context.Context) error {
	run := &b.Run
	run.Schema, run.Started, run.Environment = results.Schema, time.Now().UTC(), b.cluster.Environment()
	b.describe()
	if err := b.folder.SaveRun(*run); err != nil {
		return err
	}
	heard := context.AfterFunc(ctx, func() {
		fmt.Fprintln(b.Progress, "interrupted: the trial ends, and all results so far are kept; a second signal ends the process at once")
	})
	defer heard()
	failure := b.trials(ctx)
	now := time.Now().UTC()
	run.Ended = &now
	switch {
	case errors.Is(failure, ErrInterrupted):
		run.Interrupted = "Ctrl-C or another signal ended the run"
	case failure != nil:
		run.Interrupted = failure.Error()
	}
	return errors.Join(failure, b.folder.SaveRun(*run))
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
				Name: w.Name, Summary: w.Summary, Demonstration: w.Demonstration,
			})
		}
	}
}

// voidsInARow is the number of consecutive void trials after which a run ends, because the cause seems permanent. A
// single arm cannot be the cause, because the trials of different arms alternate.
const voidsInARow = 10

// voidPause is the pause after a void trial, for each void trial in a row. Together, the pauses before the run ends
// give an API server 90 seconds to restart.
const voidPause = 2 * time.Second

func (b *bench) trials(ctx context.Context) error {
	steps := order(b.Run.Plan, b.Run.Seed)
	voids := 0
	first := pilot{}
	for number, s := range steps {
		cell := &b.Run.Plan[s.cell]
		if cell.Pilot && s.block >= decided.Now.Power.Pilot {
			cell.Blocks = first.blocks(s.cell)
		}
		if s.block >= cell.Blocks {
			continue
		}
		if ctx.Err() != nil {
			return b.interrupted(len(steps))
		}
		t, err := b.cluster.measure(ctx, b.spec(number, s))
		switch {
		case err != nil && ctx.Err() == nil:
			return err
		case err != nil: // the context has ended, and nothing was measured
			return b.interrupted(len(steps))
		}
		if err := b.folder.Append(t); err != nil {
			return err
		}
		first.add(s.cell, t)
		if t.Void == "" {
			fmt.Fprintf(b.Progress, "%s: trial %d of %d\n", t.ID, number+1, len(steps))
			b.measured++
			voids = 0
			continue
		}
		fmt.Fprintf(b.Progress, "%s: trial %d of %d, void: %s\n", t.ID, number+1, len(steps), t.Void)
		if ctx.Err() != nil {
			return b.interrupted(len(steps))
		}
		if voids++; voids == voidsInARow {
			return fmt.Errorf("the last %d trials are all void; trial %s is void because: %s; all trials so far are saved", voids, t.ID, t.Void)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(voids) * voidPause):
		}
	}
	return nil
}

func (b *bench) interrupted(planned int) error {
	return fmt.Errorf("%w after %d of %d trials", ErrInterrupted, b.measured, planned)
}

func (b *bench) spec(number int, s step) trial.Spec {
	planned := b.Run.Plan[s.cell]
	cell := planned.Cell
	arm, _ := b.Catalogue.Arm(s.arm) // exists, because the plan was checked
	workload, _ := b.Catalogue.Workload(cell.Workload)
	cached := slices.ContainsFunc(b.Catalogue.Arms, func(a compare.Arm) bool { return a.Cached && slices.Contains(planned.Arms, a.Name) })
	return trial.Spec{
		ID: s.id(number, cell), Cell: cell, Arm: arm, Workload: workload, AA: s.aa, Block: s.block, Order: number, Seed: s.seed, Cached: cached,
	}
}
