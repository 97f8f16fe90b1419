package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"coapply.dev/compare/decided"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Check is the result of checking one condition that an honest run must meet.
type Check struct {
	Name   string `json:"name"`   // the name of the condition; it never changes
	Threat string `json:"threat"` // the problem that the check would find
	State  string `json:"state"`  // passed, failed, or n/a if the run lacks the data for the check
	Seen   string `json:"seen"`   // what the check found in this run
}

// States of a check.
const (
	passed = "passed"
	failed = "failed"
)

// Limits of the checks.
const (
	accountLimit = 0.02 // maximum relative difference of two counts that should be equal
	driftLimit   = 1.25 // maximum ratio of the mean goodputs in the two halves of the blocks
	edges        = 100  // for Little's law: minimum measured time, as a multiple of the mean time of an intent
	edgeShare    = 0.1  // for Little's law: maximum time for which intents continue after the end of a trial, as a share of the trial
)

// checks returns the results of all checks, in the order of the documentation. The function of a check returns
// whether the check passed, or nil if the run lacks the data.
func (r *reckoning) checks() []Check {
	var all []Check
	for _, c := range []struct {
		name, threat string
		look         func() (ok *bool, seen string)
	}{
		{"decided", "questions and margins were chosen after the figures were seen", r.decidedBefore},
		{"controls", "an oracle that is blind finds no lost updates", r.controlsCaught},
		{"nothing-lost", "an arm loses updates, although no known weakness of the arm explains the loss", r.nothingLost},
		{"phantoms", "a bug of the benchmark, or a write by another client", r.noPhantoms},
		{"a-a", "chance, or the order of trials, looks like a difference", r.sameAsItself},
		{"accounting", "requests are lost or counted twice", r.accounts},
		{"littles-law", "time is lost or counted twice", r.littlesLaw},
		{"void-trials", "trials that went wrong are left out", r.noneVoid},
		{"complete", "a run is ended as soon as its results look good", r.complete},
		{"fsync", "etcd does not wait for the disk", r.fsync},
		{"priority", "administrators are exempt from priority and fairness", r.ordinaryUser},
		{"pinned", "writers take the cores of the servers that they measure", r.pinned},
		{"drift", "machine or database change during the run", r.steady},
	} {
		ok, seen := c.look()
		state := NA
		if ok != nil {
			if state = failed; *ok {
				state = passed
			}
		}
		all = append(all, Check{Name: c.name, Threat: c.threat, State: state, Seen: seen})
	}
	return all
}

func (r *reckoning) decidedBefore() (*bool, string) {
	hash := decided.Hash()
	return new(r.run.Decided == hash), fmt.Sprintf("sha256 of decided.yaml: %s in the run, %s in this report", short(r.run.Decided), short(hash))
}

func (r *reckoning) controlsCaught() (*bool, string) {
	if r.void != "" {
		return new(false), r.void
	}
	var caught []string
	for _, g := range r.where(func(row Row) bool { return row.Control }) {
		caught = append(caught, fmt.Sprintf("%s lost %s", g.row.Arm, plural(g.row.LostUpdates, "value")))
	}
	return new(true), strings.Join(caught, "; ")
}

func (r *reckoning) nothingLost() (*bool, string) {
	var lost []string
	trials := 0
	for _, g := range r.ordinary() {
		switch {
		case r.decided.ExpectedLoss(g.row.Arm, g.row.Workload) != "":
		case g.row.LostUpdates > 0:
			lost = append(lost, fmt.Sprintf("%s (lost updates: %d)", g.label(), g.row.LostUpdates))
		default:
			trials += g.row.Trials
		}
	}
	if len(lost) > 0 {
		return new(false), several(lost)
	}
	if trials == 0 {
		return nil, "the run has no valid trial of an arm that must not lose updates"
	}
	return new(true), "none in " + plural(trials, "trial")
}

func (r *reckoning) noPhantoms() (*bool, string) {
	var found []string
	for _, g := range r.ordinary() {
		if g.row.Phantom > 0 {
			found = append(found, fmt.Sprintf("%s (changes that no intent explains: %d)", g.label(), g.row.Phantom))
		}
	}
	if len(found) > 0 {
		return new(false), several(found)
	}
	return whole(len(r.counting())), "none"
}

// whole returns the result of a check that found no problem in n items. The result is nil if there were no items.
func whole(n int) *bool {
	if n == 0 {
		return nil
	}
	return new(true)
}

func (r *reckoning) sameAsItself() (*bool, string) {
	var rows, differ []string
	judged := false
	for _, c := range r.comparisons {
		if c.Family != familyAA {
			continue
		}
		rows = append(rows, fmt.Sprintf("%s in %s %s", c.Arm, c.Cell, Times(c.Ratio, c.Lo, c.Hi)))
		judged = judged || c.Verdict != statistics.NoVerdict
		if c.Verdict == statistics.Better || c.Verdict == statistics.Worse {
			differ = append(differ, rows[len(rows)-1])
		}
	}
	switch {
	case !judged:
		return nil, "no arm was compared with itself in enough blocks"
	case len(differ) > 0:
		return new(false), strings.Join(differ, "; ")
	}
	return new(true), strings.Join(rows, "; ")
}

// accounts checks that the 2xx responses to writes match the acknowledged writes, and the 409 responses match the stale
// writes and conflicts. It looks only at gridWorkload, in which each intent is exactly one write.
func (r *reckoning) accounts() (*bool, string) {
	worst, at, trials := 0.0, "", 0
	for _, g := range r.where(func(row Row) bool { return row.Workload == gridWorkload }) {
		for _, t := range g.trials {
			trials++
			if e := accountError(t); e > worst {
				worst, at = e, " ("+t.ID+")"
			}
		}
	}
	if trials == 0 {
		return nil, gridWorkload + " was not measured"
	}
	return new(worst <= accountLimit), fmt.Sprintf("the numbers of responses and of recorded outcomes differ by at most %s%s in %s",
		Percent(worst), at, plural(trials, "trial"))
}

func accountError(t results.Trial) float64 {
	written, refused := 0, 0
	for name, count := range t.Client.Requests {
		switch verb, code, _ := strings.Cut(name, " "); {
		case verb == "GET":
		case strings.HasPrefix(code, "2"):
			written += count
		case code == "409":
			refused += count
		}
	}
	return max(off(written, t.Oracle.Acknowledged), off(refused, t.Client.StaleWrites+t.Client.Conflicts))
}

func off(a, b int) float64 {
	if a == b {
		return 0
	}
	return math.Abs(float64(a-b)) / float64(max(a, b))
}

// littlesLaw checks Little's law: the number of writers is the throughput times the mean time of an intent. It skips
// open loops, trials with rounds, arms that give up intents, and arms whose load generator is the bottleneck. It also
// skips arms whose intents are so long that the intents at the start and the end of a trial distort the mean.
func (r *reckoning) littlesLaw() (*bool, string) {
	worst, at, cells := 0.0, "", 0
	for _, g := range r.where(func(row Row) bool { return row.Rate == 0 && row.Rounds == 0 && row.Bottleneck == "" }) {
		writers, ok := g.busyWriters()
		if !ok {
			continue
		}
		cells++
		if e := math.Abs(writers/float64(g.row.Writers) - 1); e >= worst {
			worst, at = e, fmt.Sprintf(" (%s in %s)", g.row.Arm, g.row.Name)
		}
	}
	if cells == 0 {
		return nil, "no cell is suitable: in a suitable cell, all intents land, and are short compared with the trial"
	}
	return new(worst <= accountLimit), fmt.Sprintf("throughput × mean time differs from the number of writers by at most %s%s, in %s",
		Percent(worst), at, plural(cells, "row"))
}

func (g group) busyWriters() (float64, bool) {
	var service []results.Latency
	landed, measured, own, all, open := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, t := range g.trials {
		service = append(service, t.Service)
		if t.Service.NotLanded > 0 || t.Timed.GiveUps() > 0 {
			return 0, false
		}
		landed, measured = landed+float64(t.Timed.Landed), measured+t.Measured.Seconds()
		// The waiting time is not added: in a closed loop without barriers, writers wait only at the beginning,
		// before the measured time.
		own += t.Client.Own.Seconds()
		all += (t.Client.Own + t.Client.Busy).Seconds()
		open += float64(t.Writers) * (t.Warmup + t.Measured).Seconds()
	}
	if all > (1+edgeShare)*open {
		return 0, false
	}
	d, err := results.Merge(service...)
	if err != nil || d.Mean() == nil || all == own || measured == 0 {
		return 0, false
	}
	p99, trial := *d.Percentile(99)/1000, measured/float64(len(g.trials))
	if 20*p99 > trial || *d.Mean()/1000*edges > measured {
		return 0, false
	}
	return landed / measured * *d.Mean() / 1000 / (1 - own/all), true
}

func (r *reckoning) noneVoid() (*bool, string) {
	var void []string
	for _, t := range r.trials {
		if t.Void != "" {
			void = append(void, t.ID+": "+t.Void)
		}
	}
	if len(void) > 0 {
		return new(false), fmt.Sprintf("%d of %s are void: %s", len(void), plural(len(r.trials), "trial"), several(void))
	}
	return whole(len(r.trials)), "none of " + plural(len(r.trials), "trial")
}

func (r *reckoning) complete() (*bool, string) {
	info := r.info()
	return new(info.Trials == info.Planned), fmt.Sprintf("%s of %s", Count(info.Trials), plural(info.Planned, "planned trial"))
}

func (r *reckoning) fsync() (*bool, string) {
	if r.run.Environment.EtcdFsync == "" {
		return nil, "the cluster does not show whether etcd uses fsync"
	}
	return new(r.run.Environment.EtcdFsync == "on"), r.run.Environment.EtcdFsync
}

func (r *reckoning) ordinaryUser() (*bool, string) {
	e := r.run.Environment
	if e.User == "" {
		return nil, "the user is not known"
	}
	return new(!slices.Contains(e.Groups, "system:masters")), e.User + " in the groups " + strings.Join(e.Groups, ", ")
}

func (r *reckoning) pinned() (*bool, string) {
	e := r.run.Environment
	switch {
	case !e.LocalCluster:
		return nil, "the run did not start this cluster"
	case len(e.ServerCores) == 0 || len(e.GeneratorCores) == 0:
		return new(false), either(e.Unpinned, "API server, etcd and writers share all cores")
	}
	shared := slices.ContainsFunc(e.ServerCores, func(core int) bool { return slices.Contains(e.GeneratorCores, core) })
	return new(!shared), fmt.Sprintf("API server and etcd on cores %v, writers on %v", e.ServerCores, e.GeneratorCores)
}

func either(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// steady compares the goodput in the first half of the blocks with the second half, over all arms and cells with two blocks or more.
func (r *reckoning) steady() (*bool, string) {
	var logs []float64
	for _, g := range r.ordinary() {
		values := g.values(results.Trial.Goodput)
		if half := len(values) / 2; half > 0 {
			first, _ := statistics.Mean(values[:half])
			second, _ := statistics.Mean(values[len(values)-half:])
			if first.Mean > 0 && second.Mean > 0 {
				logs = append(logs, math.Log(second.Mean/first.Mean))
			}
		}
	}
	if len(logs) == 0 {
		return nil, "no arm has two blocks"
	}
	mean, _ := statistics.Mean(logs)
	ratio := math.Exp(mean.Mean)
	return new(ratio < driftLimit && ratio > 1/driftLimit), fmt.Sprintf("second half: %s the goodput of the first half", digits(ratio)+"×")
}
