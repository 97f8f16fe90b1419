package report

import (
	"slices"
	"strings"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// cellKey is what names a cell, alike for trials and for what was reckoned from them.
type cellKey struct{ compare.Cell }

func keyOf(r results.Result) cellKey { return cellKey{r.Cell()} }

func keyOfTrial(t results.Trial) cellKey { return cellKey{nameOnly(t.Cell)} }

// Title gives the parameters in words, without the workload.
func (k cellKey) Title() string {
	parts := []string{plural(k.Writers, "writer"), plural(k.Managers, "manager"), plural(k.Objects, "object")}
	if k.Writers == 0 { // of a sweep
		parts = parts[1:]
	}
	if k.RTT != 0 {
		parts = append(parts, "round trip +"+k.RTT.String())
	}
	if k.Rate != 0 {
		parts = append(parts, exact(k.Rate)+" intents/s arrive")
	}
	return strings.Join(parts, ", ")
}

// Loop says how intents arrive.
func (k cellKey) Loop() string {
	if k.Rate > 0 {
		return "open loop"
	}
	return "closed loop"
}

// sweep is the same cell but for the number of writers.
func (k cellKey) sweep() cellKey {
	k.Writers = 0
	return k
}

// cellGroup is a cell with the arms that ran in it, without the second runs of A/A.
type cellGroup struct {
	Key     cellKey
	Results []results.Result
}

// workloadGroup is the cells of a workload in the order of the results.
type workloadGroup struct {
	Name  string
	Cells []*cellGroup
}

func grouped(all []results.Result) []*workloadGroup {
	var groups []*workloadGroup
	for _, r := range all {
		if r.AA {
			continue
		}
		i := slices.IndexFunc(groups, func(g *workloadGroup) bool { return g.Name == r.Workload })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &workloadGroup{Name: r.Workload})
		}
		groups[i].add(r)
	}
	return groups
}

func (g *workloadGroup) add(r results.Result) {
	key := keyOf(r)
	i := slices.IndexFunc(g.Cells, func(c *cellGroup) bool { return c.Key == key })
	if i < 0 {
		i = len(g.Cells)
		g.Cells = append(g.Cells, &cellGroup{Key: key})
	}
	g.Cells[i].Results = append(g.Cells[i].Results, r)
}

// sweeps gives the results of cells that differ by their writers alone, where there are at least two such cells.
func (g *workloadGroup) sweeps() []cellGroup {
	var keys []cellKey
	by := map[cellKey][]results.Result{}
	writers := map[cellKey]map[int]bool{}
	for _, c := range g.Cells {
		if !slices.ContainsFunc(c.Results, func(r results.Result) bool { return !r.Control }) {
			continue
		}
		key := c.Key.sweep()
		if writers[key] == nil {
			keys = append(keys, key)
			writers[key] = map[int]bool{}
		}
		for _, r := range c.Results {
			if !r.Control { // it shows what the oracle sees, not how fast it is
				by[key] = append(by[key], r)
			}
		}
		writers[key][c.Key.Writers] = true
	}
	var sweeps []cellGroup
	for _, key := range keys {
		if len(writers[key]) > 1 {
			sweeps = append(sweeps, cellGroup{key, by[key]})
		}
	}
	slices.SortStableFunc(sweeps, func(a, b cellGroup) int { return a.Key.Managers - b.Key.Managers })
	return sweeps
}

// armsOf gives the names of arms in the order in which they appear.
func armsOf(all []results.Result) []string {
	var names []string
	for _, r := range all {
		if !slices.Contains(names, r.Arm) {
			names = append(names, r.Arm)
		}
	}
	return names
}
