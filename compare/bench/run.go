package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/history"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options of a run.
type Options struct {
	Catalogue compare.Catalogue
	Run       results.Run // Command, Seed, Profile, Plan and Margin; the rest is filled in
	Dir       string
	// Open gives the cluster to run on. It is called again when the API server dies for good in the middle.
	Open func(context.Context) (*target.Target, error)
	// Progress gets what the run does, for a person: a bar if it is a terminal.
	Progress io.Writer
}

// ErrInterrupted says that the context ended before the plan did. What was measured until then is kept and marked.
var ErrInterrupted = errors.New("interrupted")

// Run makes every trial of the plan and keeps each as soon as it is measured, in Dir. It ends with ErrInterrupted when the
// context ends, and with another error when nothing more can be measured or kept; what was measured stands in Dir then.
func Run(ctx context.Context, options Options) (err error) {
	t, err := options.Open(ctx)
	if err != nil {
		return err
	}
	b := &bench{Options: options, target: t}
	defer func() { err = errors.Join(err, b.close(ctx)) }()
	if err := b.begin(); err != nil {
		return err
	}
	steps := order(b.Run.Plan, b.Run.Seed)
	b.progress = startProgress(options.Progress, b.Run.Plan, steps)
	err = b.trials(ctx, steps)
	b.progress.stop()
	return errors.Join(err, b.end(err))
}

type bench struct {
	Options

	target   *target.Target
	folder   *results.Folder
	progress *progress
	seen     map[string]bool // cells and arms of which a history is kept
}

// begin writes what the run is, before anything is measured.
func (b *bench) begin() (err error) {
	run := &b.Run
	run.Schema, run.Started, run.Environment = results.Schema, time.Now().UTC(), b.target.Environment()
	b.describe()
	b.seen = map[string]bool{}
	b.folder, err = results.Create(b.Dir, *run)
	return err
}

// describe names the arms and workloads of the plan as they are, so that the report shows what ran.
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
			b.Run.Arms = append(b.Run.Arms, results.ArmInfo{
				Name: arm.Name, Summary: arm.Summary, Source: arm.Source, Control: arm.Control,
			})
		}
	}
	for _, w := range b.Catalogue.Workloads {
		if workloads[w.Name] {
			b.Run.Workloads = append(b.Run.Workloads, results.WorkloadInfo{
				Name: w.Name, Summary: w.Summary, Claims: w.Claims,
			})
		}
	}
}

func (b *bench) trials(ctx context.Context, steps []step) error {
	for number, s := range steps {
		if ctx.Err() != nil {
			return ErrInterrupted
		}
		b.progress.begin(number, b.Run.Plan[s.cell].Cell, s)
		recorded, err := trial.Run(ctx, b.target, b.spec(number, s))
		if err != nil {
			return fmt.Errorf("%w: %w", ErrInterrupted, err)
		}
		if err := b.keep(ctx, recorded); err != nil {
			return err
		}
		b.progress.end(recorded.Trial)
		if recorded.Trial.Void != "" && ctx.Err() == nil {
			if err := b.revive(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *bench) spec(number int, s step) trial.Spec {
	cell := b.Run.Plan[s.cell].Cell
	arm, _ := b.Catalogue.Arm(s.arm) // the plan was checked against the catalogue
	workload, _ := b.Catalogue.Workload(cell.Workload)
	sample := cell.String() + " " + s.arm
	spec := trial.Spec{
		ID: s.id(number, cell), Cell: cell, Arm: arm, Workload: workload, AA: s.aa, Block: s.block, Order: number,
		Seed: s.seed, CrossCheck: !b.seen[sample],
	}
	b.seen[sample] = true
	return spec
}

// keep writes a trial where it survives whatever comes next.
func (b *bench) keep(ctx context.Context, recorded trial.Recorded) error {
	t := recorded.Trial
	if err := b.append(ctx, t); err != nil {
		return err
	}
	if t.Oracle.Porcupine != "" {
		if err := b.keepHistory(t.ID, recorded.History); err != nil {
			b.progress.say(fmt.Sprintf("the history of %s is not kept: %v", t.ID, err))
		}
	}
	for i, w := range b.Run.Workloads {
		if w.Name == t.Workload && w.Object == "" && recorded.Object != "" {
			b.Run.Workloads[i].Object = recorded.Object
		}
	}
	return nil
}

func (b *bench) keepHistory(id string, h history.History) error {
	var out bytes.Buffer
	if err := history.Write(&out, h); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(b.Dir, results.Histories), 0o777); err != nil {
		return err
	}
	return os.WriteFile(results.HistoryPath(b.Dir, id), out.Bytes(), 0o666)
}

// end writes how the run ended. Of what went wrong with the trials it only needs to know whether something did.
func (b *bench) end(failure error) error {
	now := time.Now().UTC()
	b.Run.Ended = &now
	if failure != nil {
		b.Run.Interrupted = failure.Error()
	}
	return errors.Join(b.folder.SaveRun(b.Run), b.folder.Close())
}

// close gives back what the run took of the cluster, also after the context has ended.
func (b *bench) close(ctx context.Context) error {
	if b.target == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return b.target.Close(ctx)
}

const closeTimeout = time.Minute
