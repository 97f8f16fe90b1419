package summary

import (
	"fmt"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// Difference is the comparison of two runs for one arm in one cell.
type Difference struct {
	Cell, Arm             string
	Before, After         statistics.Estimate // goodput in the two runs
	Ratio, Lo, Hi         float64             // After divided by Before; Lo and Hi are 0 without an interval
	Verdict               statistics.Verdict
	Why                   string
	LostBefore, LostAfter int
}

// Changed reports whether the arm became better or worse, or whether it loses updates in only one of the runs.
func (d Difference) Changed() bool {
	return d.Verdict == statistics.Better || d.Verdict == statistics.Worse || (d.LostBefore == 0) != (d.LostAfter == 0)
}

// Differences is the comparison of two runs.
type Differences struct {
	Warnings []string // differences between the runs that make them hard to compare, such as another machine
	Rows     []Difference
	// OnlyBefore and OnlyAfter name arms in cells that only one of the two runs has measured.
	OnlyBefore, OnlyAfter []string
}

// Measured is a run with its trials.
type Measured struct {
	Run    results.Run
	Trials []results.Trial
}

// Diff compares two runs: each arm in each cell that both runs have. The runs have no common blocks, so the ratios
// are unpaired and their intervals are wide. Changes of the machine between the runs also change the ratios.
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

// warnings returns the differences between two runs that may influence the measured values, such as another CPU.
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
			found = append(found, fmt.Sprintf("the runs differ in %s: %s in the first, %s in the second",
				fact.name, either(fact.before, NA), either(fact.after, NA)))
		}
	}
	return found
}
