// Package cells measures goodput and tails of coapply beside other ways to write, in compare's trials: with its target, its
// watch, and its oracle. Each part has its trials, every one of which is made once a round, and rows of the table.
package cells

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
	"coapply.dev/compare/target"
	"coapply.dev/compare/trial"
)

// Options of a run.
type Options struct {
	Catalogue compare.Catalogue
	Rounds    int
	// Quick makes short trials of few writers, which say nothing.
	Quick bool
	// Progress gets a line for each trial.
	Progress io.Writer
}

// Parts are what can be measured.
var Parts = map[string]func(context.Context, *target.Target, Options) ([]measure.Row, []results.Trial, error){
	"contention": contention, "processes": processes, "width": width,
}

// one is a trial of a round.
type one struct {
	arm string
	compare.Cell
}

// rounds are what was measured, in turns.
type rounds []map[one]results.Trial

// runner makes trials.
type runner struct {
	Options

	target *target.Target
	pool   trial.Pool
	order  int
	all    []results.Trial
}

// rounds makes every trial once a round, in random order.
func (r *runner) rounds(ctx context.Context, trials []one) (all rounds, err error) {
	defer func() { err = errors.Join(err, r.pool.Close()) }()
	for n := 1; n <= r.Rounds; n++ {
		round := map[one]results.Trial{}
		for _, i := range rand.Perm(len(trials)) {
			if round[trials[i]], err = r.trial(ctx, n, trials[i]); err != nil {
				return all, err
			}
		}
		all = append(all, round)
	}
	return all, nil
}

func (r *runner) trial(ctx context.Context, round int, o one) (results.Trial, error) {
	arm, known := r.Catalogue.Arm(o.arm)
	workload, knownWorkload := r.Catalogue.Workload(o.Workload)
	if !known || !knownWorkload {
		return results.Trial{}, fmt.Errorf("there is no arm %s or no workload %s", o.arm, o.Workload)
	}
	cell := o.Cell
	if r.Quick {
		cell.Writers, cell.Objects = min(cell.Writers, 8), min(cell.Objects, 8)
		cell.Processes = min(cell.Processes, cell.Writers)
		cell.Warmup, cell.Duration = 100*time.Millisecond, 300*time.Millisecond
	}
	r.order++
	recorded, err := trial.Run(ctx, r.target, trial.Spec{
		ID: fmt.Sprintf("%d-%d-%s", round, r.order, o.arm), Cell: cell, Arm: arm, Workload: workload,
		Block: round, Order: r.order, Seed: rand.Uint64(), Pool: &r.pool,
	})
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return results.Trial{}, err
	}
	t := recorded.Trial
	r.all = append(r.all, t)
	said := "void: " + t.Void
	if t.Void == "" {
		said = fmt.Sprintf("%6.1f intents/s, p99 %.0f ms, %d lost", goodput(t), 1000*p99(t), t.Oracle.LostUpdates())
	}
	fmt.Fprintf(r.Progress, "round %d of %d: %-15s %-36s %s\n", round, r.Rounds, o.arm, o.Cell, said)
	return t, nil
}

// ratio adds to a row what one trial comes to against another in each round, and the rates of both.
func (r rounds) ratio(row measure.Row, of func(results.Trial) float64, a, b one) measure.Row {
	row.Unit = measure.Times
	for _, round := range r {
		if x, y := value(round, of, a), value(round, of, b); x/y > 0 && !math.IsInf(x/y, 0) {
			row.Rounds = append(row.Rounds, x/y)
		}
	}
	return row
}

// beside is what trials came to.
func (r rounds) beside(unit measure.Unit, of func(results.Trial) float64, trials ...one) (peers []measure.Peer) {
	for _, o := range trials {
		peers = append(peers, measure.Peer{Name: o.arm, Unit: unit, Rounds: r.values(of, o)})
	}
	return peers
}

func (r rounds) rates(trials ...one) []measure.Peer {
	return r.beside(measure.Rate, goodput, trials...)
}

func (r rounds) values(of func(results.Trial) float64, o one) (all []float64) {
	for _, round := range r {
		if v := value(round, of, o); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	return all
}

// value is not a number for a trial that was not made, or is void.
func value(round map[one]results.Trial, of func(results.Trial) float64, o one) float64 {
	if t, made := round[o]; made && t.Void == "" {
		return of(t)
	}
	return math.NaN()
}

func goodput(t results.Trial) float64 {
	if g := t.Goodput(); g != nil {
		return *g
	}
	return math.NaN()
}

// p99 in seconds, of the intents that began in the time that counts. Where it falls among those that never landed, it
// is the length of the trial or the longest that landed, whichever is more: it was that at least.
func p99(t results.Trial) float64 {
	all, err := results.Merge(t.Latency)
	if err != nil {
		return math.NaN()
	}
	p := all.Percentiles()
	if p.P99 != nil {
		return *p.P99 / 1000
	}
	atLeast := t.Duration.Seconds()
	if p.Max != nil {
		atLeast = max(atLeast, *p.Max/1000)
	}
	return atLeast
}
