package summary

import (
	"fmt"
	"slices"
	"strings"

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
		if c.Workload == "hot-object" && c.RTT == 0 && c.Rate == 0 && !planned.Control && condition(c) {
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

// manyManagers looks along the managers, with the writers held.
func manyManagers(r *reckoning) []part {
	var parts []part
	seen := map[int]bool{}
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers > 1 }) {
		if seen[cell.Writers] {
			continue
		}
		seen[cell.Writers] = true
		if p, ok := r.alongManagers(cell.Writers); ok {
			parts = append(parts, p)
		}
	}
	for _, p := range parts { // one is enough
		if p.state == holds {
			return []part{p}
		}
	}
	return parts
}

// alongManagers holds if ssa is behind where the managers are most, and not where they are fewest. It is false with fewer
// than two cells.
func (r *reckoning) alongManagers(writers int) (part, bool) {
	cells := r.contended(func(c compare.Cell) bool { return c.Writers == writers })
	slices.SortFunc(cells, func(a, b compare.Cell) int { return a.Managers - b.Managers })
	var words, texts []string
	for _, cell := range cells {
		c, found := r.between(cell.String(), plainApply, patientGMU, goodputMeasure)
		if !found {
			continue
		}
		words = append(words, c.Word)
		texts = append(texts, fmt.Sprintf("%s at %d", ratioText(c), cell.Managers))
	}
	if len(words) < 2 {
		return part{}, false
	}
	p := part{undecided, fmt.Sprintf("with %d writers, by managers: %s", writers, strings.Join(texts, ", "))}
	switch first, last := words[0], words[len(words)-1]; {
	case last == statistics.Slower && first != statistics.Slower && first != statistics.NoVerdict:
		p.state = holds
	case last == statistics.Faster || last == statistics.Equivalent || last == statistics.Slower:
		p.state = doesNotHold
	}
	return p, true
}

func giveUpRate(r *reckoning) []part {
	var parts []part
	for _, cell := range r.contended(func(c compare.Cell) bool { return c.Writers == 16 }) {
		g, found := r.lookup(cell.String(), "gmu-default-retry")
		if !found || g.result.GiveUpShare == nil {
			continue
		}
		share := *g.result.GiveUpShare
		p := part{bounded(share >= 0.15 && share <= 0.35), fmt.Sprintf("%s of %s in %s", percent(share), plural(g.result.Intents, "intent"), cell)}
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
