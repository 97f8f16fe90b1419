package summary

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// trialThreats are the threats 17 to 24: how trials are made and what is concluded from them.
func trialThreats() []check {
	return []check{
		{
			"warm-up", "the first apply migrates ownership, and caches are cold",
			"all managers apply before the trial; intents of the warm-up are judged, not timed", warmUp,
		},
		{
			"shared-cores", "client, API server and etcd share the cores", "the client's CPU is measured; an arm whose client uses more than 80 % gets no verdict",
			sharedCores,
		},
		{
			"drift", "the machine or the database changes during the run",
			"arms are interleaved in seeded random order and compared within a block", drift,
		},
		{
			"pseudo-replication", "requests are taken for independent samples", "the trial is the unit", replication,
		},
		{
			"many-comparisons", "of many comparisons some are significant by chance",
			"p is adjusted after Benjamini and Hochberg; hypotheses were written down before", manyComparisons,
		},
		{
			"logging", "logging, audit or profiling slows one arm", "one control plane for all arms; its flags are printed", logging,
		},
		{
			"client-work", "one arm's client does work that is not counted", "the client's CPU for each intent is measured, serialising included",
			clientWork,
		},
		{
			"harness", "the benchmark itself is wrong", "an arm against itself shows no difference, and the controls lose updates", harness,
		},
	}
}

func warmUp(r *reckoning) (verdict, seen string) {
	shortest, cold, rounds, timed := time.Duration(math.MaxInt64), 0, 0, 0
	for _, t := range r.counting() {
		switch {
		case t.Rounds > 0:
			rounds++
			continue
		case t.Warmup <= 0:
			cold++
		}
		timed++
		shortest = min(shortest, t.Warmup)
	}
	if timed == 0 {
		return notApplicable, fmt.Sprintf("all %s by rounds, without warm-up", plural(rounds, "trial"))
	}
	return state(cold == 0), fmt.Sprintf("at least %s in %s by time, %d without; %d by rounds have none",
		shortest, plural(timed, "trial"), cold, rounds)
}

func sharedCores(r *reckoning) (verdict, seen string) {
	worst, at := -1.0, ""
	var over []string
	for _, g := range r.where(func(group) bool { return true }) {
		share := g.clientCPUShare(r.run)
		if share == nil {
			continue
		}
		if *share > worst {
			worst, at = *share, g.label()
		}
		if *share > clientCPULimit {
			over = append(over, g.label())
		}
	}
	if worst < 0 {
		return notApplicable, "the client's CPU or GOMAXPROCS is not known"
	}
	seen = fmt.Sprintf("%d cores; the client used up to %s of its CPU (%s)", r.run.Environment.Cores, percent(worst), at)
	if len(over) > 0 {
		return failed, seen + "; no verdict for " + several(over)
	}
	return passed, seen
}

// drift compares the blocks, each trial against the mean of its arm in its cell: blocks follow each other in time.
func drift(r *reckoning) (verdict, seen string) {
	const most = 1.25
	logs := map[int][]float64{}
	for _, g := range r.groups {
		values := g.each(results.Trial.Goodput)
		if len(values) < 2 || slices.Min(values) <= 0 {
			continue
		}
		mean := 0.0
		for _, v := range values {
			mean += math.Log(v) / float64(len(values))
		}
		for i, t := range g.trials {
			logs[t.Block] = append(logs[t.Block], math.Log(values[i])-mean)
		}
	}
	if len(logs) < 3 {
		return notApplicable, "too few blocks to tell"
	}
	least, greatest := math.Inf(1), math.Inf(-1)
	for _, block := range slices.Sorted(maps.Keys(logs)) {
		sum := 0.0
		for _, l := range logs[block] {
			sum += l
		}
		mean := sum / float64(len(logs[block]))
		least, greatest = min(least, mean), max(greatest, mean)
	}
	lo, hi := math.Exp(least), math.Exp(greatest)
	return state(hi <= most && lo >= 1/most), fmt.Sprintf(
		"goodput of a block is %.3g to %.3g times that of all, arm by arm, over %s; seed %d", lo, hi, plural(len(logs), "block"), r.run.Seed)
}

func replication(r *reckoning) (verdict, seen string) {
	intents, fewest := 0, math.MaxInt
	for _, t := range r.counting() {
		intents += t.All.Intents
	}
	for _, c := range r.comparisons {
		if c.Blocks > 0 {
			fewest = min(fewest, c.Blocks)
		}
	}
	if len(r.comparisons) == 0 || fewest == math.MaxInt {
		return notApplicable, "nothing was compared"
	}
	return stated, fmt.Sprintf("%s of %s; n of a comparison is its blocks, at least %d; below %d there is no verdict",
		plural(len(r.counting()), "trial"), plural(intents, "intent"), fewest, statistics.EnoughForVerdict)
}

func manyComparisons(r *reckoning) (verdict, seen string) {
	total, before, after := 0, 0, 0
	for _, c := range slices.Concat(r.comparisons, r.rivals) {
		if c.AA || c.Word == statistics.NoVerdict {
			continue
		}
		total++
		if c.P <= 1-statistics.Confidence {
			before++
		}
		if c.Adjusted <= 1-statistics.Confidence {
			after++
		}
	}
	if total == 0 {
		return notApplicable, "nothing was compared often enough for a verdict"
	}
	return stated, fmt.Sprintf("%s with a verdict; p is at most 0.05 in %d, after the adjustment in %d", plural(total, "comparison"), before, after)
}

func logging(r *reckoning) (verdict, seen string) {
	e := r.run.Environment
	if len(e.APIServerFlags) == 0 {
		return notApplicable, "this cluster does not show its flags; it was the same one for all arms"
	}
	audit := "no audit log"
	if e.APIServerFlags["audit-log-path"] != "" {
		audit = "an audit log"
	}
	return stated, fmt.Sprintf("one API server for all arms: %s, v=%s, profiling=%s",
		audit, either(e.APIServerFlags["v"], "default"), either(e.APIServerFlags["profiling"], "default"))
}

func clientWork(r *reckoning) (verdict, seen string) {
	var rows []string
	for _, arm := range []string{"gmu-default-retry", "ssa", "apply"} {
		for _, g := range r.where(func(g group) bool { return g.arm == arm && g.result.ClientCPU != nil }) {
			rows = append(rows, fmt.Sprintf("%s %.3g ms", g.label(), g.result.ClientCPU.Mean))
			break
		}
	}
	if len(rows) == 0 {
		return notApplicable, "the client's CPU was not measured"
	}
	return stated, "such as " + strings.Join(rows, ", ")
}

func harness(r *reckoning) (verdict, seen string) {
	controls, _ := controlsCaught(r)
	same, _ := noDifferenceToItself(r)
	seen = fmt.Sprintf("controls: %s; A/A: %s", controls, same)
	if controls == passed && same == notApplicable {
		return notApplicable, seen
	}
	return state(controls == passed && same == passed), seen
}
