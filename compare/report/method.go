package report

import (
	"math"
	"strconv"
	"strings"
	"time"

	"coapply.dev/compare"
)

// design is the cells in the order of the plan, with their arms.
func (b *builder) design() table {
	t := table{Columns: columns("cell", "#blocks", "#warm-up", "#trial", "baseline", "A/A", "~arms")}
	for _, p := range b.run.Plan {
		name := p.Cell.String()
		if p.Control {
			name += " (controls)"
		}
		warmup, length := p.Warmup.String(), p.Duration.String()
		if p.Rounds > 0 {
			warmup, length = "none", plural(p.Rounds, "round")
		}
		t.add("", name, count(p.Blocks), warmup, length, dash(p.Baseline), dash(p.AA), strings.Join(p.Arms, ", "))
	}
	return t
}

func dash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}

// method says how the run was made, with the numbers of this run.
func (b *builder) method() []string {
	margin := exact(rounded(100*b.results.Run.Margin)) + " %"
	return []string{
		"A trial is one arm in one cell: writers write intents at once, a watch records every version of every object, and " +
			"an oracle that knows neither arm nor client judges from that history what became of each acknowledged value. " +
			"The trial is the unit of the statistics, never the request.",
		"A block is one trial of every arm of a cell. The order of cells and of arms within a block is random, from the " +
			"seed " + strconv.FormatUint(b.run.Seed, 10) + "; each trial has objects of its own. " +
			"What is written in the warm-up is judged but not timed. Writers do not begin in step.",
		"Arms are compared by the geometric mean of their paired ratios to the baseline of the cell, within blocks, with a " +
			"95 % interval, an exact sign-flip permutation test, and Benjamini and Hochberg's correction over the comparisons of " +
			"one measure. Two arms are equivalent when the whole interval lies within " + margin + "; faster and slower are said only of " +
			"ratios beyond it. In the same way, ssa and apply are compared with every arm of the cell that does not apply. An arm that runs twice in a cell (A/A) shows what two equal arms differ by.",
		"Intents that were given up count: in goodput as not landed, in latency as longer than any that landed, so that a " +
			"percentile that falls among them has no value. In an open loop, latency is from when the intent was to begin.",
		"An ownership conflict and a stale write are both HTTP 409, and are counted apart. What Server-Side Apply retries " +
			"inside the API server the client does not see: it is counted as failed transactions of etcd.",
		"Two controls that must lose updates run in every run. If the oracle does not catch them, the run is void.",
	}
}

// listing is code or YAML behind a heading.
type listing struct {
	Name, Summary, Text string
	Control             bool
	Look                *look
}

func (b *builder) sources() []listing {
	var all []listing
	for _, a := range b.run.Arms {
		l := b.palette.of(a.Name)
		all = append(all, listing{Name: a.Name, Summary: a.Summary, Text: a.Source, Control: a.Control, Look: &l})
	}
	return all
}

func (b *builder) objects() []listing {
	var all []listing
	for _, w := range b.run.Workloads {
		all = append(all, listing{Name: w.Name, Summary: w.Summary, Text: w.Object})
	}
	return all
}

func (b *builder) summaryOf(workload string) string {
	for _, w := range b.run.Workloads {
		if w.Name == workload {
			return w.Summary
		}
	}
	return ""
}

// trialTime gives how long the trials of a cell were timed.
func (b *builder) trialTime(key cellKey) string {
	for _, p := range b.run.Plan {
		if (cellKey{nameOnly(p.Cell)}) == key {
			if p.Rounds > 0 {
				return plural(p.Rounds, "round") + " a writer"
			}
			return p.Duration.Round(time.Millisecond).String() + " a trial"
		}
	}
	return ""
}

// rounded takes away what 100 times 0.07 has too much.
func rounded(v float64) float64 { return math.Round(v*1e6) / 1e6 }

// nameOnly leaves out what does not name a cell: how long a trial is.
func nameOnly(cell compare.Cell) compare.Cell {
	cell.Rounds, cell.Warmup, cell.Duration = 0, 0, 0
	return cell
}
