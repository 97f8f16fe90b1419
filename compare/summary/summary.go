// Package summary computes the content of a report from the trials of a run. An arm is a way to write, a cell is a
// workload with its parameters, and a block contains one trial of every arm in every cell. The summary has one row for
// each arm in each cell, comparisons of arms within blocks, and the checks that the run has to pass. It also answers four
// questions: about speed, about cost, about losses, and about when not to use Server-Side Apply. The file decided.yaml
// lists the cells and comparisons to evaluate; it is written before the run. Equal trials give equal summaries.
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
	Contests    []Contest
	Answers     []Answer
	Situations  []Situation
	Systems     []System
	Checks      []Check
}

// Info describes a run.
type Info struct {
	Command    string  `json:"command"`        // the command that repeats the run
	Seed       uint64  `json:"seed"`           // the seed of all random numbers
	Started    string  `json:"started"`        // the start of the run, in RFC 3339 and UTC
	Profile    string  `json:"profile"`        // quick, review, performance or custom
	Decided    string  `json:"decided"`        // sha256 of the decided.yaml that the summary was made with
	Margin     float64 `json:"margin"`         // ratios that differ from 1 by less than this share are equivalent
	Trials     int     `json:"trials"`         // the number of trials, void trials included
	Planned    int     `json:"planned"`        // the number of trials in the plan
	VoidTrials int     `json:"void_trials"`    // the number of void trials
	Void       string  `json:"void,omitempty"` // why the whole run is void
}

// reckoning holds the intermediate results of the computation of a summary.
type reckoning struct {
	decided     decided.File
	run         results.Run
	trials      []results.Trial
	groups      []group
	primary     []string // the names of the cells for the questions about speed and cost
	void        string
	comparisons []Comparison
	contests    []Contest
}

// Of returns the summary of a run with these trials.
func Of(run results.Run, trials []results.Trial) Summary {
	r := &reckoning{decided: decided.Now, run: run, trials: trials, groups: groupsOf(decided.Now, run, trials)}
	r.void = r.voidRun()
	primary := r.findPrimary()
	r.compareAll()
	s := Summary{
		Run: r.info(), Void: r.void, Notes: r.notes(primary), Rows: r.rows(), Comparisons: r.comparisons, Contests: r.contests,
	}
	s.Answers, s.Situations, s.Systems, s.Checks = r.answers(), r.situations(), r.systems(), r.checks()
	return s
}

func (r *reckoning) info() Info {
	info := Info{
		Command: r.run.Command, Seed: r.run.Seed, Started: r.run.Started.UTC().Format(time.RFC3339), Profile: r.run.Profile,
		Decided: decided.Hash(), Margin: r.decided.Margin, Trials: len(r.trials), Void: r.void,
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

// findPrimary sets r.primary to the primary cells of decided.yaml that the run contains, and reports whether there
// are any. If there are none, it sets r.primary to the closed-loop cells of gridWorkload that have several arms.
func (r *reckoning) findPrimary() bool {
	for _, name := range r.decided.Primary {
		if _, found := r.planned(name); found {
			r.primary = append(r.primary, name)
		}
	}
	if len(r.primary) > 0 {
		return true
	}
	for _, cell := range r.run.Plan {
		if !cell.Control && cell.Rate == 0 && len(cell.Arms) > 1 && cell.Workload == gridWorkload {
			r.primary = append(r.primary, cell.String())
		}
	}
	return false
}

// gridWorkload is the workload whose cells answer the questions about speed and cost.
const gridWorkload = "hot-object"

func (r *reckoning) planned(name string) (results.PlannedCell, bool) {
	for _, cell := range r.run.Plan {
		if !cell.Control && cell.String() == name {
			return cell, true
		}
	}
	return results.PlannedCell{}, false
}

func (r *reckoning) notes(decidedBefore bool) []string {
	var notes []string
	switch {
	case r.run.Interrupted != "":
		notes = append(notes, fmt.Sprintf("Interrupted after %d of %d trials: %s", len(r.trials), r.info().Planned, r.run.Interrupted))
	case r.run.Ended == nil:
		notes = append(notes, fmt.Sprintf("Incomplete: the run was killed, or is still running (%d of %d trials)", len(r.trials), r.info().Planned))
	}
	switch {
	case r.run.Decided != decided.Hash():
		notes = append(notes, fmt.Sprintf("Exploratory: the decided.yaml of the run (%s) differs from the decided.yaml of this report (%s)",
			short(r.run.Decided), short(decided.Hash())))
	case !decidedBefore:
		notes = append(notes, "Exploratory: the run has none of the primary cells of decided.yaml")
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
