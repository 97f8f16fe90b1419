package results

import (
	"fmt"

	"coapply.dev/compare/statistics"
)

// Difference is an arm in a cell that two runs have.
type Difference struct {
	Cell, Arm     string
	Before, After *Interval // goodput
	// Ratio of the goodput after to that before; Lo and Hi are 0 where there is no interval.
	Ratio, Lo, Hi float64
	Adjusted      float64 // p, among all of the two runs
	Word          string  // as in Comparison
	Why           string
	LostBefore    int
	LostAfter     int
}

// Changed says that the arm became faster or slower, or that it loses updates in one of the runs only.
func (d Difference) Changed() bool {
	return d.Word == statistics.Faster || d.Word == statistics.Slower || (d.LostBefore == 0) != (d.LostAfter == 0)
}

// Differences of two runs.
type Differences struct {
	// Warnings are what makes the runs hard to compare, such as another machine.
	Warnings []string
	Rows     []Difference
	// OnlyBefore and OnlyAfter are the cells and arms that one of them does not have.
	OnlyBefore, OnlyAfter []string
}

// Changed says that any arm changed.
func (d Differences) Changed() bool {
	for _, row := range d.Rows {
		if row.Changed() {
			return true
		}
	}
	return false
}

// Diff compares two runs, arm by arm in cells of the same workload and parameters. The runs share no blocks, so the
// ratios are unpaired and their intervals wide; what the machine did in between is in them.
func Diff(before, after Results) Differences {
	d := Differences{Warnings: warnings(before, after)}
	margin := max(before.Run.Margin, after.Run.Margin)
	matched := map[string]bool{}
	var ratios []statistics.Ratio
	for _, a := range before.Cells {
		if a.AA {
			continue
		}
		b, found := same(a, after.Cells)
		if !found {
			d.OnlyBefore = append(d.OnlyBefore, label(a))
			continue
		}
		matched[label(a)] = true
		row, ratio := difference(a, b)
		d.Rows, ratios = append(d.Rows, row), append(ratios, ratio)
	}
	for _, b := range after.Cells {
		if !b.AA && !matched[label(b)] {
			d.OnlyAfter = append(d.OnlyAfter, label(b))
		}
	}
	settle(d.Rows, ratios, margin)
	return d
}

func same(a Result, cells []Result) (Result, bool) {
	for _, b := range cells {
		if !b.AA && label(a) == label(b) {
			return b, true
		}
	}
	return Result{}, false
}

func label(r Result) string {
	name := r.Cell().String() + " " + r.Arm
	if r.Control {
		name += " (control)"
	}
	return name
}

func difference(a, b Result) (Difference, statistics.Ratio) {
	row := Difference{
		Cell: a.Cell().String(), Arm: a.Arm, Before: a.Goodput, After: b.Goodput,
		LostBefore: a.LostUpdates, LostAfter: b.LostUpdates,
	}
	refuse := func(why string) (Difference, statistics.Ratio) {
		row.Word, row.Why = statistics.NoVerdict, why
		return row, statistics.Ratio{P: 1}
	}
	switch {
	case a.Goodput == nil || b.Goodput == nil:
		return refuse("no goodput was measured")
	case a.NoVerdict != "":
		return refuse("before: " + a.NoVerdict)
	case b.NoVerdict != "":
		return refuse("after: " + b.NoVerdict)
	}
	ratio, err := statistics.Unpaired(estimate(b), estimate(a))
	if err != nil {
		return refuse(err.Error())
	}
	row.Ratio, row.Lo, row.Hi = ratio.Ratio, ratio.Lo, ratio.Hi
	return row, ratio
}

func estimate(r Result) statistics.Estimate {
	return statistics.Estimate{N: r.Trials, Mean: r.Goodput.Mean, Lo: r.Goodput.Lo, Hi: r.Goodput.Hi}
}

// settle finds the words, with p adjusted for the number of comparisons that were made.
func settle(rows []Difference, ratios []statistics.Ratio, margin float64) {
	var p []float64
	for i, row := range rows {
		if row.Word == "" {
			p = append(p, ratios[i].P)
		}
	}
	adjusted := statistics.Adjust(p)
	for i := range rows {
		rows[i].Adjusted = 1
		if rows[i].Word != "" {
			continue
		}
		rows[i].Adjusted, adjusted = adjusted[0], adjusted[1:]
		rows[i].Word, rows[i].Why = statistics.Word(ratios[i], rows[i].Adjusted, margin)
	}
}

// warnings name what differs between the runs beside what they measured.
func warnings(before, after Results) []string {
	var found []string
	for _, run := range []struct {
		name, void string
	}{{"before", before.Void}, {"after", after.Void}} {
		if run.void != "" {
			found = append(found, fmt.Sprintf("the run %s is void: %s", run.name, run.void))
		}
	}
	x, y := before.Run.Environment, after.Run.Environment
	for _, fact := range []struct{ name, before, after string }{
		{"CPU", x.CPU, y.CPU}, {"cores", fmt.Sprint(x.Cores), fmt.Sprint(y.Cores)},
		{"GOMAXPROCS", fmt.Sprint(x.GOMAXPROCS), fmt.Sprint(y.GOMAXPROCS)}, {"limits", x.Limits, y.Limits},
		{"memory", fmt.Sprint(x.Memory), fmt.Sprint(y.Memory)}, {"kernel", x.Kernel, y.Kernel},
		{"file system", x.FileSystem, y.FileSystem}, {"etcd's fsync", x.EtcdFsync, y.EtcdFsync},
		{"API server", x.Server, y.Server}, {"etcd", x.Etcd, y.Etcd}, {"encoding", x.Encoding, y.Encoding},
	} {
		if fact.before != fact.after {
			found = append(found, fmt.Sprintf("other %s: %s before, %s after", fact.name, orNA(fact.before), orNA(fact.after)))
		}
	}
	return found
}

func orNA(s string) string {
	if s == "" {
		return "n/a"
	}
	return s
}
