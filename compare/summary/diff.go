package summary

import (
	"fmt"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Difference is an arm in a cell that two runs have.
type Difference struct {
	Cell, Arm             string
	Before, After         statistics.Estimate // goodput
	Ratio, Lo, Hi         float64             // of the goodput after to that before; Lo and Hi are 0 without an interval
	Verdict               statistics.Verdict
	Why                   string
	LostBefore, LostAfter int
}

// Changed reports whether the arm became better or worse, or loses updates in one of the runs only.
func (d Difference) Changed() bool {
	return d.Verdict == statistics.Better || d.Verdict == statistics.Worse || (d.LostBefore == 0) != (d.LostAfter == 0)
}

// Differences of two runs.
type Differences struct {
	Warnings []string // what makes the runs hard to compare, such as another machine
	Rows     []Difference
	// OnlyBefore and OnlyAfter are the arms in cells that one of them does not have.
	OnlyBefore, OnlyAfter []string
}

// Measured is the data of a run.
type Measured struct {
	Run    results.Run
	Trials []results.Trial
}

// Diff compares two runs, arm by arm in cells of the same name. They share no blocks, so the ratios are unpaired and their
// intervals wide; what the machine did in between is in them.
func Diff(before, after Measured) Differences {
	a, b := newReckoning(before), newReckoning(after)
	d := Differences{Warnings: warnings(a, b)}
	matched := map[string]bool{}
	var cases []statistics.Case
	for _, x := range a.where(func(Row) bool { return true }) {
		y, found := b.lookup(x.row.Name, x.row.Arm)
		if !found {
			d.OnlyBefore = append(d.OnlyBefore, x.label())
			continue
		}
		matched[x.label()] = true
		row, ratio := difference(x, y)
		d.Rows = append(d.Rows, row)
		if row.Verdict == "" {
			cases = append(cases, statistics.Case{Ratio: ratio})
		}
	}
	for _, y := range b.where(func(Row) bool { return true }) {
		if !matched[y.label()] {
			d.OnlyAfter = append(d.OnlyAfter, y.label())
		}
	}
	judged := statistics.Judge(cases, a.decided.Margin)
	for i := range d.Rows {
		if d.Rows[i].Verdict == "" {
			d.Rows[i].Verdict, judged = judged[0].Verdict, judged[1:]
		}
	}
	return d
}

func (g group) label() string { return g.row.Arm + " in " + g.row.Name }

func difference(a, b group) (Difference, statistics.Ratio) {
	row := Difference{
		Cell: a.row.Name, Arm: a.row.Arm, Before: a.row.Measures[goodput], After: b.row.Measures[goodput],
		LostBefore: a.row.LostUpdates, LostAfter: b.row.LostUpdates,
	}
	for when, g := range map[string]group{"before": a, "after": b} {
		if g.row.NoVerdict != "" {
			row.Why = when + ": " + g.row.NoVerdict
		}
	}
	ratio, err := statistics.Unpaired(b.values(results.Trial.Goodput), a.values(results.Trial.Goodput))
	if err != nil {
		row.Why = err.Error()
	}
	if row.Why != "" {
		row.Verdict = statistics.NoVerdict
	}
	row.Ratio, row.Lo, row.Hi = ratio.Ratio, ratio.Lo, ratio.Hi
	return row, ratio
}

// warnings name what differs between the runs beside what they measured.
func warnings(a, b *reckoning) []string {
	var found []string
	for _, run := range []struct{ name, void string }{{"before", a.void}, {"after", b.void}} {
		if run.void != "" {
			found = append(found, fmt.Sprintf("the run %s is void: %s", run.name, run.void))
		}
	}
	x, y := a.run.Environment, b.run.Environment
	for _, fact := range []struct{ name, before, after string }{
		{"decisions", short(a.run.Decided), short(b.run.Decided)},
		{"CPU", x.CPU, y.CPU}, {"cores", fmt.Sprint(x.Cores), fmt.Sprint(y.Cores)},
		{"GOMAXPROCS", fmt.Sprint(x.GOMAXPROCS), fmt.Sprint(y.GOMAXPROCS)}, {"limits", x.Limits, y.Limits},
		{"pinning", fmt.Sprint(x.ServerCores, x.GeneratorCores), fmt.Sprint(y.ServerCores, y.GeneratorCores)},
		{"memory", fmt.Sprint(x.Memory), fmt.Sprint(y.Memory)}, {"kernel", x.Kernel, y.Kernel},
		{"file system", x.FileSystem, y.FileSystem}, {"etcd's fsync", x.EtcdFsync, y.EtcdFsync},
		{"API server", x.Server, y.Server}, {"etcd", x.Etcd, y.Etcd}, {"encoding", x.Encoding, y.Encoding},
	} {
		if fact.before != fact.after {
			found = append(found, fmt.Sprintf("other %s: %s before, %s after", fact.name, either(fact.before, NA), either(fact.after, NA)))
		}
	}
	return found
}
