package summary

import (
	"time"

	"coapply.dev/compare/results"
)

// reckoning is what the parts of the summary share.
type reckoning struct {
	run         results.Run
	trials      []results.Trial
	groups      []group
	comparisons []results.Comparison
	rivals      []results.Comparison
	void        string
}

// Of gives the results of a run. The model is not part of it: who has one sets Results.Model.
func Of(run results.Run, trials []results.Trial) results.Results {
	r := &reckoning{run: run, trials: trials, groups: groupsOf(run, trials)}
	r.void = r.voidRun()
	r.comparisons, r.rivals = r.compareAll()
	out := results.Results{
		Schema: results.Schema, Run: r.info(), Void: r.void, Cells: []results.Result{}, Comparisons: r.comparisons,
		Rivals: r.rivals,
	}
	for _, g := range r.groups {
		out.Cells = append(out.Cells, g.result)
	}
	out.Checks = r.checks()
	out.Hypotheses = r.hypotheses()
	out.Claims = r.claims()
	out.Verdict = r.verdict()
	return out
}

func (r *reckoning) info() results.RunInfo {
	info := results.RunInfo{
		Command: r.run.Command, Seed: r.run.Seed, Started: r.run.Started.UTC().Format(time.RFC3339), Profile: r.run.Profile,
		Interrupted: r.run.Interrupted, Margin: r.run.Margin, Trials: len(r.trials), Environment: r.run.Environment,
	}
	if r.run.Ended == nil && info.Interrupted == "" {
		info.Interrupted = "the run did not come to its end: it was killed, or still goes on"
	}
	for _, cell := range r.run.Plan {
		arms := len(cell.Arms)
		if cell.AA != "" {
			arms++
		}
		info.Planned += cell.Blocks * arms
	}
	for _, t := range r.trials {
		if t.Void != "" {
			info.VoidTrials++
		}
	}
	return info
}
