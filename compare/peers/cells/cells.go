// Package cells is the part of `compare bench` that is made of trials: goodput and tails of coapply beside other ways to
// write. A part of it has trials, each of which is made once a round, and the rows of what they came to.
package cells

import (
	"math"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// part is trials of a round, and the rows that are made of them.
type part struct {
	trials []one
	rows   func(rounds) []measure.Row
}

// parts by name; a quick one has short trials of few writers, which say nothing.
var parts = map[string]func(quick bool) part{"contention": contention, "processes": processes, "width": width}

// one is a trial of a round.
type one struct {
	arm string
	compare.Cell
}

// shortened is the trial of a quick run.
func (o one) shortened(quick bool) one {
	if quick {
		o.Writers, o.Objects = min(o.Writers, 8), min(o.Objects, 8)
		o.Processes = min(o.Processes, o.Writers)
		o.Warmup, o.Duration = 100*time.Millisecond, 300*time.Millisecond
	}
	return o
}

// Plan has the trials of parts, as many times as there are rounds. A part without trials has none in it.
func Plan(names []string, rounds int, quick bool) (plan []results.PlannedCell) {
	for _, name := range names {
		if parts[name] == nil {
			continue
		}
		for _, o := range parts[name](quick).trials {
			i := slices.IndexFunc(plan, func(planned results.PlannedCell) bool { return planned.Cell == o.Cell })
			if i < 0 {
				i, plan = len(plan), append(plan, results.PlannedCell{Cell: o.Cell, Blocks: rounds, Baseline: o.arm})
			}
			if !slices.Contains(plan[i].Arms, o.arm) {
				plan[i].Arms = append(plan[i].Arms, o.arm)
			}
		}
	}
	return plan
}

// Rows of a part, of the trials of a plan.
func Rows(name string, trials []results.Trial, quick bool) []measure.Row {
	if parts[name] == nil {
		return nil
	}
	var all rounds
	for _, t := range trials {
		for len(all) <= t.Block {
			all = append(all, map[one]results.Trial{})
		}
		all[t.Block][one{t.Arm, t.Cell}] = t
	}
	return parts[name](quick).rows(all)
}

// rounds are what was measured, in turns.
type rounds []map[one]results.Trial

// ratio adds to a row what one trial comes to against another in each round.
func (r rounds) ratio(row measure.Row, of func(results.Trial) float64, a, b one) measure.Row {
	row.Unit = measure.Times
	for _, round := range r {
		if ratio := value(round, of, a) / value(round, of, b); ratio > 0 && !math.IsInf(ratio, 0) {
			row.Rounds = append(row.Rounds, ratio)
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
