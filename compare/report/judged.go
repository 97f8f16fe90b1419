package report

import (
	"cmp"
	"slices"
	"strings"

	"coapply.dev/compare/results"
)

// hypotheses are those written down before the run, with what became of them.
func (b *builder) hypotheses() table {
	t := table{Columns: columns("hypothesis", "~as it was written down, with its threshold", "~measured", "!verdict")}
	for _, h := range b.results.Hypotheses {
		class := map[string]string{"holds": "good", "does not hold": "bad"}[h.State]
		t.add(class, h.Name, h.Text, either(h.Measured), either(h.State))
	}
	return t
}

// claims are published figures beside what was measured.
func (b *builder) claims() table {
	t := table{Columns: columns("workload", "~published", "~measured here", "~where the claim contradicts itself")}
	for _, c := range b.results.Claims {
		contradiction := c.Contradiction
		if contradiction == "" {
			contradiction = "–"
		}
		t.add("", c.Workload, c.Text, either(c.Measured), contradiction)
	}
	return t
}

// checks are the threats to validity, each with the check that ran.
func (b *builder) checks() table {
	t := table{Columns: columns("check", "!state", "~what would make the run dishonest", "~guard", "~what was seen")}
	for _, c := range b.results.Checks {
		class := map[string]string{"failed": "bad", "passed": "good"}[c.State]
		t.add(class, c.Name, either(c.State), c.Threat, c.Guard, either(c.Result))
	}
	return t
}

// checkCounts says how many checks are in which state.
func (b *builder) checkCounts() string {
	by := map[string]int{}
	for _, c := range b.results.Checks {
		by[either(c.State)]++
	}
	var parts []string
	for _, state := range sortedKeys(by) {
		parts = append(parts, count(by[state])+" "+state)
	}
	if len(parts) == 0 {
		return "no check ran"
	}
	return strings.Join(parts, ", ")
}

// against is where Server-Side Apply is behind, whoever is ahead: the report must not leave it to be found.
func (b *builder) against() table {
	t := table{Columns: columns("cell", "arm", "is behind", "measure", "#ratio", "95 % interval", "#adjusted p", "#blocks")}
	all := slices.Concat(b.results.Comparisons, b.results.Rivals)
	slices.SortStableFunc(all, func(x, y results.Comparison) int {
		return cmp.Or(cmp.Compare(y.Measure, x.Measure), cmp.Compare(b.planned(x.Cell), b.planned(y.Cell)))
	})
	for _, c := range all {
		applies := slices.Contains([]string{"ssa", "ssa-force", "update-then-ssa", "apply"}, c.Arm)
		if !c.AA && applies && c.Word == "slower" {
			t.add("", c.Cell, c.Arm, c.Baseline, measureTitle(c.Measure), ratioText(c, drawable(c)), rangeText(c), pText(c), count(c.Blocks))
		}
	}
	if len(t.Rows) == 0 {
		t.Note = "None that this run shows: a few trials show large differences only."
	}
	return t
}

// planned is the place of a cell in the plan.
func (b *builder) planned(cell string) int {
	return slices.IndexFunc(b.run.Plan, func(p results.PlannedCell) bool { return p.String() == cell })
}

// elsewhere is the cells outside of the maps: who is ahead in each.
func (b *builder) elsewhere() table {
	t := table{Columns: columns("cell", "baseline", "ahead", "#ratio", "95 % interval", "word", "ssa", "apply")}
	for _, workload := range grouped(b.results.Cells) {
		var mapped []*cellGroup
		for _, plane := range b.planes(workload) {
			mapped = append(mapped, plane...)
		}
		for _, cell := range workload.Cells {
			if slices.Contains(mapped, cell) || b.baseline(cell.Key) == "" {
				continue
			}
			best, found := b.best(cell)
			ratio, span, word := ratioText(best, found), rangeText(best), best.Word
			if !found {
				best.Arm, word = na, "no verdict"
			}
			t.add("", cell.Key.String(), b.baseline(cell.Key), best.Arm+givesUp(cell, best.Arm), ratio, span, word, b.againstBaseline(cell, "ssa"), b.againstBaseline(cell, "apply"))
		}
	}
	if len(t.Rows) > 0 {
		t.Note = "Ahead is the arm with the highest goodput among those that lost nothing; the last columns are of ssa and apply against the baseline."
	}
	return t
}

// givesUp says of an arm that is ahead what that leaves out; "" under 1 %.
func givesUp(cell *cellGroup, arm string) string {
	for _, r := range cell.Results {
		if r.Arm == arm && r.GiveUpShare != nil && *r.GiveUpShare >= 0.01 {
			return ", gives up " + percent(r.GiveUpShare)
		}
	}
	return ""
}

// againstBaseline says in a few words how an arm does against the baseline.
func (b *builder) againstBaseline(cell *cellGroup, arm string) string {
	c, found := b.comparison(cell.Key, arm)
	switch {
	case !found && b.baseline(cell.Key) == arm:
		return "is the baseline"
	case !found:
		return "–"
	}
	if lost(cell, arm) {
		return ratioText(c, drawable(c)) + " lost updates"
	}
	return ratioText(c, drawable(c)) + " " + c.Word
}
