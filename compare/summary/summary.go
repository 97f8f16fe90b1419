// Package summary computes the content of a report from the trials of a run. An arm is a way to write, a cell is a
// workload with its parameters, and a block contains one trial of every arm of a cell. The summary has one row for
// each arm in each cell, comparisons of arms within blocks, and the checks that the run has to pass. Its first part is the
// 2×2 that decided.yaml defines before the run: two protocols, without and with turns. Equal trials give equal summaries.
package summary

import (
	"fmt"
	"time"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
)

// Summary is the content of a report.
type Summary struct {
	Run Info
	// Void is the reason why the whole run is void, such as a negative control that lost no updates. It is "" if the run is valid.
	Void string
	// Notes are warnings at the top of the report. For example, the run was interrupted, or it used a different decided.yaml.
	Notes       []string
	Rows        []Row
	Comparisons []Comparison
	Squares     []Square
	Answers     []Answer
	Checks      []Check
}

// Info describes a run.
type Info struct {
	Command    string `json:"command"`        // the command that repeats the run
	Seed       uint64 `json:"seed"`           // the seed of all random numbers
	Started    string `json:"started"`        // the start of the run, in RFC 3339 and UTC
	Profile    string `json:"profile"`        // quick, review, performance or custom
	Decided    string `json:"decided"`        // sha256 of the decided.yaml that the summary was made with
	Trials     int    `json:"trials"`         // the number of trials, void trials included
	Planned    int    `json:"planned"`        // the number of trials in the plan
	VoidTrials int    `json:"void_trials"`    // the number of void trials
	Void       string `json:"void,omitempty"` // why the whole run is void
}

// reckoning holds the intermediate results of the computation of a summary.
type reckoning struct {
	decided     decided.File
	run         results.Run
	trials      []results.Trial
	groups      []group
	void        string
	comparisons []Comparison
}

// Of returns the summary of a run with these trials.
func Of(run results.Run, trials []results.Trial) Summary { return of(run, trials, nil) }

// Repeated returns the summary of a run that was made twice. A comparison then has a verdict only if it has the same verdict in
// both runs. The argument again is the summary of the second run.
func Repeated(run results.Run, trials []results.Trial, again Summary) Summary {
	s := of(run, trials, again.Comparisons)
	s.Notes = append(s.Notes, fmt.Sprintf("Two runs, of %s and %s. Where two ratios are shown, the second is of the second run; "+
		"a comparison has a verdict only if both runs have the same verdict",
		s.Run.Started, again.Run.Started))
	if again.Void != "" {
		s.Notes = append(s.Notes, "The second run is void: "+again.Void)
	}
	return s
}

func of(run results.Run, trials []results.Trial, again []Comparison) Summary {
	r := &reckoning{decided: decided.Now, run: run, trials: trials, groups: groupsOf(decided.Now, run, trials)}
	r.void = r.voidRun()
	r.compareAll()
	r.repeat(again)
	s := Summary{Run: r.info(), Void: r.void, Notes: r.notes(), Rows: r.rows(), Comparisons: r.comparisons}
	s.Squares = s.squares(r.decided)
	s.Answers, s.Checks = r.answers(s), r.checks()
	return s
}

func (r *reckoning) info() Info {
	info := Info{
		Command: r.run.Command, Seed: r.run.Seed, Started: r.run.Started.UTC().Format(time.RFC3339), Profile: r.run.Profile,
		Decided: decided.Hash(), Trials: len(r.trials), Void: r.void,
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

// gridWorkload is the workload of the 2×2, in which each intent is exactly one write.
const gridWorkload = "hot-object"

func (r *reckoning) notes() []string {
	var notes []string
	switch {
	case r.run.Interrupted != "":
		notes = append(notes, fmt.Sprintf("Interrupted after %d of %d trials: %s", len(r.trials), r.info().Planned, r.run.Interrupted))
	case r.run.Ended == nil:
		notes = append(notes, fmt.Sprintf("Incomplete: the run was killed, or is still running (%d of %d trials)", len(r.trials), r.info().Planned))
	}
	if r.run.Decided != decided.Hash() {
		notes = append(notes, fmt.Sprintf("Exploratory: the decided.yaml of the run (%s) differs from the decided.yaml of this report (%s), "+
			"so the questions of this report were not fixed before the run",
			short(r.run.Decided), short(decided.Hash())))
	}
	return notes
}

func short(hash string) string {
	if hash == "" {
		return "none"
	}
	return hash[:min(12, len(hash))]
}

// voidRun returns the reason why the whole run is void, or "" if the run is valid. A run is valid only if each
// negative control lost updates. This shows that the oracle can find lost updates.
func (r *reckoning) voidRun() string {
	controls := 0
	for _, cell := range r.run.Plan {
		if !cell.Control {
			continue
		}
		for _, arm := range cell.Arms {
			controls++
			switch g, measured := r.lookup(cell.String(), arm); {
			case !measured:
				return "nothing shows that the oracle finds lost updates: the negative control " + arm + " was not measured"
			case g.row.LostUpdates == 0:
				return fmt.Sprintf("nothing shows that the oracle finds lost updates: the negative control %s lost none of its %d acknowledged writes",
					arm, g.row.Acknowledged)
			}
		}
	}
	if controls == 0 {
		return "nothing shows that the oracle finds lost updates: no negative control was planned"
	}
	return ""
}
