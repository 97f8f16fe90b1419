package summary

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/compare/statistics"
)

// Answer is the answer to one of the four questions on the first screen of the report.
type Answer struct {
	Name     string `json:"name"`     // fastest, cost, lost or avoid
	Question string `json:"question"` // the text of the question
	Text     string `json:"text"`     // the answer; names of arms are in backticks
}

func (r *reckoning) answers() []Answer {
	all := []Answer{
		{"fastest", "Which is fastest for my writers, processes and round-trip time?", r.fastest()},
		{"cost", "What does it cost the API server?", r.cost()},
		{"lost", "Is anything lost or given up?", r.lost()},
		{"avoid", "When should I not use Server-Side Apply?", r.avoid()},
	}
	if r.void != "" {
		for i := range all {
			all[i].Text = "No answer: the run is void."
		}
	}
	return all
}

func (r *reckoning) fastest() string {
	first := r.tally(familyOurs, goodput, "lands more", "fewer")
	return r.joined(first, r.winners(goodput, "fastest"))
}

func (r *reckoning) cost() string {
	first := r.tally(familyOurs, serverCPU, "costs less CPU a write", "more")
	return r.joined(first, r.winners(serverCPU, "cheapest"))
}

func (r *reckoning) joined(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return "No answer: too few trials count, or no cell has both " + arms([]string{r.decided.Ours, r.decided.Plain}, "and") + "."
	}
	return strings.Join(parts, " ")
}

// tally returns a sentence about a family of comparisons: in how many cells the first arm is better and worse
// than the second, and by how much at most.
func (r *reckoning) tally(family, measure, better, worse string) string {
	by := map[statistics.Verdict][]Comparison{}
	for _, c := range r.comparisons {
		if c.Family == family && c.Measure == measure {
			by[c.Verdict] = append(by[c.Verdict], c)
		}
	}
	judged := len(by[statistics.Better]) + len(by[statistics.Worse]) + len(by[statistics.Equivalent]) + len(by[statistics.Undecided])
	if judged == 0 {
		return ""
	}
	m, _ := measureOf(measure)
	parts := []string{
		better + " in " + r.most(by[statistics.Better], m.Cost), worse + " in " + r.most(by[statistics.Worse], !m.Cost),
	}
	for _, rest := range []statistics.Verdict{statistics.Equivalent, statistics.Undecided, statistics.NoVerdict} {
		if n := len(by[rest]); n > 0 {
			parts = append(parts, fmt.Sprintf("%s in %d", rest, n))
		}
	}
	return fmt.Sprintf("Against %s, %s %s.", arm(r.decided.Plain), arm(r.decided.Ours), strings.Join(parts, ", "))
}

// most returns a text with the number of the given comparisons and with the cell that has the lowest or highest ratio.
func (r *reckoning) most(found []Comparison, lowest bool) string {
	if len(found) == 0 {
		return "none"
	}
	extreme := slices.MaxFunc(found, func(a, b Comparison) int {
		if (a.Ratio > b.Ratio) != lowest {
			return 1
		}
		return -1
	})
	at := ""
	if cell, ok := r.planned(extreme.Cell); ok {
		at = ": " + Phrase(cell.Cell)
	}
	upTo := map[bool]string{true: "down to ", false: "up to "}[lowest]
	if len(found) == 1 {
		upTo = ""
	}
	return fmt.Sprintf("%s (%s%s%s)", plural(len(found), "cell"), upTo, Times(extreme.Ratio, extreme.Lo, extreme.Hi), at)
}

// winners returns a sentence that says how many cells each arm wins by this measure.
func (r *reckoning) winners(measure, adjective string) string {
	wins, nobody, all := map[string]int{}, 0, 0
	var names []string
	for _, c := range r.contests {
		if c.Family != familyFirst || c.Measure != measure || c.Why != "" {
			continue
		}
		all++
		if c.Winner == "" {
			nobody++
			continue
		}
		if wins[c.Winner] == 0 {
			names = append(names, c.Winner)
		}
		wins[c.Winner]++
	}
	if all == 0 {
		return ""
	}
	slices.SortStableFunc(names, func(a, b string) int { return wins[b] - wins[a] })
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s in %d", arm(name), wins[name]))
	}
	if len(names) == 0 {
		return fmt.Sprintf("No arm was shown to be the %s of all in any of %s.", adjective, plural(all, "cell"))
	}
	if nobody > 0 {
		parts = append(parts, fmt.Sprintf("none was shown to beat the others in %d", nobody))
	}
	return fmt.Sprintf("The %s of all in %s: %s.", adjective, plural(all, "cell"), strings.Join(parts, ", "))
}

// lost returns the answer about lost updates. It first lists the losses that are explained by how an arm
// writes, then all other losses, and then the arms that give up intents.
func (r *reckoning) lost() string {
	var unexpected, explained []string
	for _, name := range r.armsOf() {
		var workloads []string
		for _, g := range r.ordinary() {
			switch {
			case g.row.Arm != name || g.row.LostUpdates == 0:
			case r.decided.ExpectedLoss(name, g.row.Workload) == "":
				unexpected = append(unexpected, fmt.Sprintf("%s in %s", arm(name), g.row.Name))
			case !slices.Contains(workloads, g.row.Workload):
				workloads = append(workloads, g.row.Workload)
			}
		}
		if len(workloads) > 0 {
			explained = append(explained, arm(name)+" ("+strings.Join(workloads, ", ")+")")
		}
	}
	var parts []string
	if len(explained) > 0 {
		parts = append(parts, "Lost because of the way of writing: "+strings.Join(explained, ", ")+".")
	}
	if len(unexpected) > 0 {
		parts = append(parts, "Lost unexpectedly: "+several(unexpected)+".")
	} else {
		parts = append(parts, r.clean(len(explained) > 0))
	}
	return r.joined(append(parts, r.givenUp())...)
}

// clean returns the sentence for a run without unexplained losses. The sentence states an upper bound for the share
// of trials in which coapply's own arm loses updates.
func (r *reckoning) clean(butExplained bool) string {
	nothing := map[bool]string{true: "Nothing else is lost", false: "Nothing is lost"}[butExplained]
	trials := 0
	for _, g := range r.ordinary() {
		if g.row.Arm == r.decided.Ours && r.decided.ExpectedLoss(g.row.Arm, g.row.Workload) == "" {
			trials += g.row.Trials
		}
	}
	if _, upper, ok := statistics.Proportion(0, trials); ok {
		return fmt.Sprintf("%s: %s lost nothing in %s, so with 95 %% confidence this arm loses updates in at most %s of all trials.",
			nothing, arm(r.decided.Ours), plural(trials, "trial"), Percent(upper))
	}
	return nothing + "."
}

// givenUp returns a sentence about the arms that give up the most intents in the primary cells. Each arm is
// named with its worst cell.
func (r *reckoning) givenUp() string {
	var parts []string
	for _, name := range r.armsOf() {
		var worst group
		for _, g := range r.ordinary() {
			share, known := g.row.Measures["give_up_share"]
			if g.row.Arm == name && known && slices.Contains(r.primary, g.row.Name) && share.Mean > worst.row.Measures["give_up_share"].Mean {
				worst = g
			}
		}
		if share := worst.row.Measures["give_up_share"]; share.Mean > r.decided.GiveUps {
			parts = append(parts, fmt.Sprintf("%s up to %s (%s)", arm(name), estimatedShare(share), Phrase(worst.row.Cell)))
		}
	}
	if len(parts) == 0 {
		return "No arm gave up " + Percent(r.decided.GiveUps) + " of its intents."
	}
	return "Share of intents given up: " + several(parts) + "."
}

// armsOf returns the names of the arms in the plan, without duplicates and without negative controls.
func (r *reckoning) armsOf() []string {
	var names []string
	for _, g := range r.ordinary() {
		if !slices.Contains(names, g.row.Arm) {
			names = append(names, g.row.Arm)
		}
	}
	return names
}

// avoid returns the answer about when not to use Server-Side Apply. The answer lists cases in which plain Server-Side
// Apply loses updates, sends needless requests, or is slower than the best get-modify-update.
func (r *reckoning) avoid() string {
	var parts []string
	if g, found := r.first("increment", r.decided.Plain); found && g.row.LostUpdates > 0 {
		share := float64(g.row.LostUpdates) / float64(max(1, g.row.Acknowledged))
		parts = append(parts, fmt.Sprintf("Where the new value depends on the current value, %s lost %s of its increments, without an error.",
			arm(r.decided.Plain), Percent(share)))
	}
	by := map[statistics.Verdict][]Comparison{}
	for _, c := range r.comparisons {
		if c.Family == familyAvoid {
			by[c.Verdict] = append(by[c.Verdict], c)
		}
	}
	if worse := by[statistics.Worse]; len(worse) > 0 {
		extreme := slices.MinFunc(worse, func(a, b Comparison) int {
			if a.Ratio < b.Ratio {
				return -1
			}
			return 1
		})
		cell, _ := r.planned(extreme.Cell)
		parts = append(parts, fmt.Sprintf("Plain Server-Side Apply is slower than the best get-modify-update in %s of %d. "+
			"The difference is greatest with %s: %s the goodput of %s.",
			plural(len(worse), "cell"), len(worse)+len(by[statistics.Better])+len(by[statistics.Equivalent])+len(by[statistics.Undecided]),
			Phrase(cell.Cell), Times(extreme.Ratio, extreme.Lo, extreme.Hi), arm(extreme.Against)))
	}
	if g, found := r.first("steady-state", r.decided.Plain); found {
		if sent, known := g.row.Measures["requests_per_intent"]; known && sent.Mean > 0.5 {
			parts = append(parts, fmt.Sprintf("If nothing changes, %s sends %s requests per reconcile.", arm(r.decided.Plain), Number(sent.Mean)))
		}
	}
	if len(parts) == 0 {
		return "This run shows no such case."
	}
	return strings.Join(parts, " ")
}

// first returns the group of an arm in the first cell of a workload that has this arm.
func (r *reckoning) first(workload, name string) (group, bool) {
	for _, g := range r.ordinary() {
		if g.row.Workload == workload && g.row.Arm == name {
			return g, true
		}
	}
	return group{}, false
}
