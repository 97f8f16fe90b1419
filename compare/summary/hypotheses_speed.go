package summary

import (
	"fmt"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// contended gives the cells of hot-object on one object, without added latency, that satisfy a condition, each once.
func (r *reckoning) contended(condition func(compare.Cell) bool) []compare.Cell {
	return r.plain(func(c compare.Cell) bool { return c.Objects == 1 && condition(c) })
}

// uncontended gives those on at least as many objects as a cache needs to keep up with its writers.
func (r *reckoning) uncontended(condition func(compare.Cell) bool) []compare.Cell {
	return r.plain(func(c compare.Cell) bool { return c.Objects >= 4*c.Writers && condition(c) })
}

func (r *reckoning) plain(condition func(compare.Cell) bool) []compare.Cell {
	var cells []compare.Cell
	for _, planned := range r.run.Plan {
		c := planned.Cell
		if c.Workload == "hot-object" && c.RTT == 0 && c.Rate == 0 && c.Overlap == 0 && !planned.Control && condition(c) {
			cells = append(cells, c)
		}
	}
	return cells
}

// says compares two arms in a cell; the second value is false where one of them was not measured.
func (r *reckoning) says(cell compare.Cell, arm, other, measure, word string) (part, bool) {
	c, found := r.between(cell.String(), arm, other, measure)
	if !found {
		return part{}, false
	}
	what := ""
	if measure == cpuMeasure {
		what = "CPU of "
	}
	seen := fmt.Sprintf("%s%s against %s in %s: %s, %s", what, arm, other, cell, ratioText(c), c.Word)
	return part{expects(word, c.Word), seen}, true
}

// oneWriter reads latency off goodput: one writer in a closed loop has nothing else to wait for. It needs many objects: of
// a single one, the cache does not have the writer's last write yet when it reads again, and every first attempt is stale.
func oneWriter(r *reckoning) []part {
	var parts []part
	for _, cell := range r.uncontended(func(c compare.Cell) bool { return c.Writers == 1 && c.Managers == 1 }) {
		for _, p := range []struct{ other, measure, word string }{
			{"gmu-cached", cpuMeasure, statistics.Slower},
			{"gmu-default-retry", goodputMeasure, statistics.Faster},
			{"gmu-cached", goodputMeasure, statistics.Slower},
		} {
			said, ok := r.says(cell, "ssa", p.other, p.measure, p.word)
			if !ok {
				said = untested("ssa against " + p.other + " there")
			}
			parts = append(parts, said)
		}
	}
	return parts
}

func manyWriters(r *reckoning) []part {
	var parts []part
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers >= 8 && c.Managers == c.Writers }) {
		if said, ok := r.says(cell, "ssa", "gmu-default-retry", goodputMeasure, statistics.Faster); ok {
			parts = append(parts, said)
		}
	}
	return parts
}

// manyManagers needs one cell in which ssa is behind; without one it says how far was looked.
func manyManagers(r *reckoning) []part {
	most, fewest := 0, 0
	decided := true
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers > 1 }) {
		said, ok := r.says(cell, "ssa", "gmu-unbounded", goodputMeasure, statistics.Slower)
		if !ok {
			continue
		}
		if said.state == holds {
			return []part{said}
		}
		decided = decided && said.state == doesNotHold
		if fewest == 0 || cell.Managers < fewest {
			fewest = cell.Managers
		}
		most = max(most, cell.Managers)
	}
	if most == fewest {
		return nil
	}
	seen := fmt.Sprintf("not up to %d managers", most)
	if !decided {
		return []part{{undecided, seen + ", but not every cell shows a difference"}}
	}
	return []part{{doesNotHold, seen}}
}

func giveUpRate(r *reckoning) []part {
	var parts []part
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers == 16 }) {
		g, found := r.lookup(cell.String(), "gmu-default-retry")
		if !found || g.result.GiveUpShare == nil {
			continue
		}
		share := *g.result.GiveUpShare
		p := part{bounded(share >= 0.15 && share <= 0.35), fmt.Sprintf("%s of %d in %s", percent(share), g.result.Intents, cell)}
		if g.thin() {
			p.state = undecided
		}
		parts = append(parts, p)
	}
	return parts
}

func hiddenAttempts(r *reckoning) []part {
	var parts []part
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers >= 8 && c.Objects == 1 }) {
		g, found := r.lookup(cell.String(), "ssa")
		if !found {
			continue
		}
		seen := g.result.StaleWrites + g.result.Conflicts
		p := part{bounded(seen == 0), fmt.Sprintf("%s: %d answers 409, %s attempts for each write",
			cell, seen, orNA(g.result.ServerAttempts, ""))}
		switch {
		case g.result.ServerAttempts == nil || g.thin():
			p.state = undecided
		case *g.result.ServerAttempts <= 1.5:
			p.state = doesNotHold
		}
		parts = append(parts, p)
	}
	return parts
}

// roundTrip compares cells that differ in nothing but the added latency.
func roundTrip(r *reckoning) []part {
	var parts []part
	for _, planned := range r.run.Plan {
		near := planned.Cell
		near.RTT = 0
		if planned.RTT == 0 || planned.Workload != "hot-object" {
			continue
		}
		far, found := r.between(planned.String(), "ssa", "gmu-default-retry", goodputMeasure)
		base, foundBase := r.between(near.String(), "ssa", "gmu-default-retry", goodputMeasure)
		if found && foundBase {
			parts = append(parts, part{grows(base, far), fmt.Sprintf("%s without and %s with %s (%s)",
				ratioText(base), ratioText(far), planned.RTT, near)})
		}
	}
	return parts
}

func grows(base, far results.Comparison) string {
	switch {
	case base.Word == statistics.NoVerdict || far.Word == statistics.NoVerdict:
		return undecided
	case far.Lo > base.Hi:
		return holds
	case far.Hi < base.Lo:
		return doesNotHold
	}
	return undecided
}
