// Package cells contains the parts of `compare bench` that run trials. These parts compare the goodput and the tail latency
// of coapply with other ways to write. Each part defines the trials of a round, and computes rows of the result table.
package cells

import (
	"math"
	"slices"
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/results"
)

// part defines the trials of one round, and computes rows of the result table from the measured trials.
type part struct {
	trials []one
	rows   func(rounds) []measure.Row
}

// parts contains the parts by name. In a quick run, trials are short and have few writers, and the results are meaningless.
var parts = map[string]func(quick bool) part{"contention": contention, "processes": processes, "width": width}

// one identifies a trial within a round by its arm and cell.
type one struct {
	arm string
	compare.Cell
}

// shortened returns the trial unchanged or, if quick is set, a shorter trial with at most 8 writers and 8 objects.
func (o one) shortened(quick bool) one {
	if quick {
		o.Writers, o.Objects = min(o.Writers, 8), min(o.Objects, 8)
		o.Processes = min(o.Processes, o.Writers)
		o.Warmup, o.Duration = 100*time.Millisecond, 300*time.Millisecond
	}
	return o
}

// Plan returns the cells of the named parts, with one block per round. Names of parts that have no trials are ignored.
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

// Rows returns the rows of a part, computed from the trials of a plan.
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

// rounds are the measured trials of each round.
type rounds []map[one]results.Trial

// ratio adds one value for each round to the row: the value of trial a divided by the value of trial b.
func (r rounds) ratio(row measure.Row, of func(results.Trial) float64, a, b one) measure.Row {
	row.Unit = measure.Times
	for _, round := range r {
		if ratio := value(round, of, a) / value(round, of, b); ratio > 0 && !math.IsInf(ratio, 0) {
			row.Rounds = append(row.Rounds, ratio)
		}
	}
	return row
}

// beside returns one Peer for each given trial, with the trial's values in all rounds.
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

// value returns a value of a trial. It returns NaN if the trial was not made or is void.
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

// p99 returns the 99th percentile of the latency in seconds, for intents that began in the timed part. If too many
// intents did not land, p99 returns a lower bound: the greater of the trial's duration and the longest measured latency.
func p99(t results.Trial) float64 {
	all, err := results.Merge(t.Latency)
	if err != nil {
		return math.NaN()
	}
	if p := all.Percentile(99); p != nil {
		return *p / 1000
	}
	atLeast := t.Duration.Seconds()
	if longest := all.Max(); longest != nil {
		atLeast = max(atLeast, *longest/1000)
	}
	return atLeast
}
