package summary

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// choiceLine counts in how many cells of hot-object each arm is ahead of those that lose nothing and give up next to
// nothing, and says what speaks against Server-Side Apply.
func (r *reckoning) choiceLine() string {
	var parts []string
	if wins := r.wins(); wins != "" {
		parts = append(parts, wins)
	} else {
		parts = append(parts, "too few trials for a verdict on speed, or no cell of hot-object")
	}
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == "increment" && g.arm == plainApply }) {
		if g.result.LostUpdates > 0 {
			parts = append(parts, fmt.Sprintf("%s lost %s of %s without a 409: where a value depends on what was read, "+
				"send the resourceVersion, as get-modify-update does", plainApply, count(g.result.LostUpdates),
				plural(g.result.Acknowledged, "increment")))
			break
		}
	}
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == "steady-state" && g.arm == plainApply }) {
		if n := g.result.RequestsPerIntent; n != nil && *n > 0.5 {
			parts = append(parts, fmt.Sprintf("%s sends %s for each reconcile that changes nothing: check before applying", plainApply, sends(*n)))
			break
		}
	}
	return strings.Join(parts, "; ") + "."
}

// wins is the arms with the highest goodput and those with the lowest p99, by the number of cells.
func (r *reckoning) wins() string {
	fast, first, cells := r.counted(func(a, b results.Result) bool { return a.Goodput.Mean > b.Goodput.Mean })
	if cells == 0 {
		return ""
	}
	prompt, second, _ := r.counted(func(a, b results.Result) bool {
		return a.Latency.P99 != nil && (b.Latency.P99 == nil || *a.Latency.P99 < *b.Latency.P99)
	})
	text := fmt.Sprintf("in %s of hot-object, of the arms that lost nothing and gave up less than 1 %%, the highest mean goodput had %s, the lowest p99 %s",
		plural(cells, "cell"), fast, prompt)
	if turns := InTurn(r.run, slices.Concat(first, second)...); turns != "" {
		text += "; " + turns
	}
	return text
}

// InTurn says of which of the arms the writers take turns; nothing if of none.
func InTurn(run results.Run, arms ...string) string {
	if turns := run.TakesTurns(arms...); len(turns) > 0 {
		return "the writers of " + strings.Join(turns, " and ") + " take turns: all of them were in one process"
	}
	return ""
}

// counted gives in how many cells of hot-object which arm is the best of those that may be chosen, and the cells.
func (r *reckoning) counted(better func(a, b results.Result) bool) (text string, arms []string, cells int) {
	byArm, at := map[string]int{}, map[string]string{}
	for _, planned := range r.run.Plan {
		if planned.Workload != "hot-object" || planned.Control {
			continue
		}
		best, found := r.ahead(planned, better)
		if !found {
			continue
		}
		cells++
		if byArm[best.arm] == 0 {
			arms, at[best.arm] = append(arms, best.arm), planned.String()
		}
		byArm[best.arm]++
	}
	slices.SortStableFunc(arms, func(a, b string) int { return byArm[b] - byArm[a] })
	counts := make([]string, len(arms))
	for i, arm := range arms {
		counts[i] = fmt.Sprintf("%s in %d", arm, byArm[arm])
		if byArm[arm] == 1 {
			counts[i] += " (" + at[arm] + ")"
		}
	}
	return strings.Join(counts, ", "), arms, cells
}

// ahead is the best arm of a cell, among those that may be chosen.
func (r *reckoning) ahead(planned results.PlannedCell, better func(a, b results.Result) bool) (group, bool) {
	var best group
	found := false
	for _, g := range r.where(func(g group) bool { return g.name() == planned.String() && !g.cell.Control }) {
		result := g.result
		eligible := result.NoVerdict == "" && result.LostUpdates == 0 && result.Goodput != nil &&
			result.GiveUpShare != nil && *result.GiveUpShare < noteworthyGiveUps && len(g.trials) >= statistics.EnoughForVerdict
		if eligible && (!found || better(result, best.result)) {
			best, found = g, true
		}
	}
	return best, found
}

func sends(requests float64) string {
	if requests > 0.995 && requests < 1.005 {
		return "a request"
	}
	return fmt.Sprintf("%.3g requests", requests)
}
