package summary

import (
	"fmt"
	"strings"

	"coapply.dev/compare/statistics"
)

// soundness is what a run stands or falls with.
func soundness() []check {
	return []check{
		{
			"controls", "an oracle that is blind finds no lost updates",
			"arms that must lose updates run in every run; one that loses none makes the run void", controlsCaught,
		},
		{
			"nothing-lost", "an arm that people use loses updates and nobody counts them",
			"each acknowledged intent has to be found at its revision, each value to stay until someone means to change it", nothingLost,
		},
		{
			"phantoms", "values that nobody wanted: a bug of the benchmark, or a stranger that writes",
			"each version of each object has to come from an intent", noPhantoms,
		},
		{
			"a-a", "chance, or the order of trials, looks like a difference",
			"an arm runs twice in each block and is compared with itself", noDifferenceToItself,
		},
		{
			"porcupine", "the oracle has a bug", "a sample of histories is also given to a linearisability checker", porcupineAgrees,
		},
		{
			"accounting", "requests are lost or counted twice",
			"on hot-object, answered writes are acknowledged intents, and answers 409 are stale writes and conflicts, within 2 %", accounts,
		},
		{
			"littles-law", "time is lost or counted twice",
			"writers = throughput × time of an intent, within 2 %, where all intents land and are short against the trial", littlesLaw,
		},
		{
			"generator-share", "the load generator is the bottleneck",
			"its share of the writers' time is measured; an arm beyond 10 % gets no verdict", generatorShare,
		},
		{
			"void-trials", "trials that went wrong are left out silently", "they stay in the data, with the reason", voidTrials,
		},
	}
}

func controlsCaught(r *reckoning) (verdict, seen string) {
	if r.void != "" {
		return failed, r.void
	}
	var caught []string
	for _, g := range r.where(func(g group) bool { return g.cell.Control }) {
		caught = append(caught, fmt.Sprintf("%s lost %s", g.arm, g.lost()))
	}
	return passed, strings.Join(caught, "; ")
}

func nothingLost(r *reckoning) (verdict, seen string) {
	var unexpected, expected []string
	acknowledged, arms := 0, 0
	for _, g := range r.where(func(g group) bool { return !g.cell.Control }) {
		why := expectedLoss(g.arm, g.cell.Workload)
		text := fmt.Sprintf("%s lost %s", g.label(), g.lost())
		switch {
		case g.result.LostUpdates > 0 && why == "":
			unexpected = append(unexpected, text)
		case g.result.LostUpdates > 0:
			expected = append(expected, text+", as expected: "+why)
		case why == "":
			acknowledged, arms = acknowledged+g.result.Acknowledged, arms+1
		}
	}
	if len(unexpected) > 0 {
		return failed, several(unexpected)
	}
	_, upper, ok := statistics.Proportion(0, acknowledged)
	if !ok {
		return notApplicable, "no arm that must lose nothing acknowledged a write"
	}
	seen = fmt.Sprintf("0 of %s of %d arms in cells were lost (95 %% sure: fewer than %s)",
		plural(acknowledged, "acknowledged write"), arms, bound(upper))
	return passed, strings.Join(append([]string{seen}, expected...), "; ")
}

func noPhantoms(r *reckoning) (verdict, seen string) {
	var found []string
	for _, g := range r.where(func(g group) bool { return g.result.Phantom > 0 && !g.cell.Control }) {
		found = append(found, fmt.Sprintf("%s: %d", g.label(), g.result.Phantom))
	}
	if len(found) > 0 {
		return failed, several(found)
	}
	return passed, "none"
}

func noDifferenceToItself(r *reckoning) (verdict, seen string) {
	titles := map[string]string{goodputMeasure: "goodput", cpuMeasure: "CPU of the API server"}
	var rows []string
	differs, judged := false, false
	for _, c := range r.comparisons {
		if !c.AA {
			continue
		}
		rows = append(rows, fmt.Sprintf("%s of %s in %s: %s, %s", titles[c.Measure], c.Arm, c.Cell, ratioText(c), c.Word))
		differs = differs || c.Word == statistics.Faster || c.Word == statistics.Slower
		judged = judged || c.Word != statistics.NoVerdict
	}
	switch {
	case len(rows) == 0:
		return notApplicable, "no arm ran twice in this run"
	case !judged:
		return notApplicable, strings.Join(rows, "; ")
	}
	return state(!differs), strings.Join(rows, "; ")
}

// porcupineAgrees reads what oracle.CrossCheck says: agrees, disagrees, or undecided, each with a reason after a colon.
func porcupineAgrees(r *reckoning) (verdict, seen string) {
	agrees, undecided := 0, 0
	var others []string
	for _, t := range r.counting() {
		word, _, _ := strings.Cut(t.Oracle.Porcupine, ":")
		switch {
		case word == "":
		case word == "agrees":
			agrees++
		case strings.HasPrefix(word, "undecided"):
			undecided++
		default:
			others = append(others, t.ID+" "+t.Oracle.Porcupine)
		}
	}
	switch {
	case len(others) > 0:
		return failed, several(others)
	case agrees == 0:
		return notApplicable, fmt.Sprintf("of %d histories that were given to it none was decided", undecided)
	}
	seen = fmt.Sprintf("agrees with the oracle on %d of %d histories", agrees, agrees+undecided)
	if undecided > 0 {
		seen += fmt.Sprintf(", did not decide %d in its time", undecided)
	}
	return passed, seen
}

func generatorShare(r *reckoning) (verdict, seen string) {
	worst, at := -1.0, ""
	var over []string
	for _, g := range r.where(func(g group) bool { return g.result.GeneratorShare != nil }) {
		share := *g.result.GeneratorShare
		if share > worst {
			worst, at = share, g.label()
		}
		if share > generatorLimit {
			over = append(over, g.label())
		}
	}
	switch {
	case worst < 0:
		return notApplicable, "it was not measured"
	case len(over) > 0:
		return failed, fmt.Sprintf("up to %s (%s); no verdict for %s", percent(worst), at, several(over))
	}
	return passed, fmt.Sprintf("at most %s (%s)", percent(worst), at)
}

func voidTrials(r *reckoning) (verdict, seen string) {
	var void []string
	for _, t := range r.trials {
		if t.Void != "" {
			void = append(void, t.ID+": "+t.Void)
		}
	}
	if len(void) == 0 {
		return passed, fmt.Sprintf("none of %s", plural(len(r.trials), "trial"))
	}
	return failed, fmt.Sprintf("%d of %s: %s", len(void), plural(len(r.trials), "trial"), several(void))
}
