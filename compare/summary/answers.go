package summary

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/compare/statistics"
)

// Answer is the answer to one of the questions on the first screen of the report. The 2×2 answers the first question.
type Answer struct {
	Name     string `json:"name"`     // lost, avoid or coapply
	Question string `json:"question"` // the text of the question
	Text     string `json:"text"`     // the answer; names of arms are in backticks
}

func (r *reckoning) answers(s Summary) []Answer {
	all := []Answer{
		{"lost", "Is anything lost or given up?", r.lost()},
		{"avoid", "When should I not use Server-Side Apply?", r.avoid()},
		{"coapply", "What does coapply add?", r.added(s)},
	}
	if r.void != "" {
		for i := range all {
			all[i].Text = "No answer: the run is void."
		}
	}
	return all
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
	return strings.Join(append(parts, r.givenUp()), " ")
}

// clean returns the sentence for a run without unexplained losses. The sentence states an upper bound for the share
// of trials in which coapply's own arm loses updates.
func (r *reckoning) clean(butExplained bool) string {
	nothing, where := "Nothing is lost", ""
	if butExplained {
		nothing, where = "Apart from these workloads nothing is lost", "there, "
	}
	trials := 0
	for _, g := range r.ordinary() {
		if g.row.Arm == r.decided.Ours && r.decided.ExpectedLoss(g.row.Arm, g.row.Workload) == "" {
			trials += g.row.Trials
		}
	}
	if _, upper, ok := statistics.Proportion(0, trials); ok {
		return fmt.Sprintf("%s: %s%s lost nothing in %s, so with 95 %% confidence this arm loses updates in at most %s of all trials.",
			nothing, where, arm(r.decided.Ours), plural(trials, "trial"), Percent(upper))
	}
	return nothing + "."
}

// givenUp returns a sentence about the arms that give up the most intents. Each arm is named with its worst cell.
func (r *reckoning) givenUp() string {
	var parts []string
	for _, name := range r.armsOf() {
		var worst group
		for _, g := range r.ordinary() {
			share, known := g.row.Measures["give_up_share"]
			if g.row.Arm == name && known && !r.demonstration(g.row.Workload) && share.Mean > worst.row.Measures["give_up_share"].Mean {
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

// avoid returns the answer about when not to use Server-Side Apply: where it loses updates, and where it sends needless
// requests. Where it is slower, the 2×2 says.
func (r *reckoning) avoid() string {
	var parts []string
	ssa := r.decided.Square.SSA
	if g, found := r.first("increment", ssa); found && g.row.LostUpdates > 0 {
		share := float64(g.row.LostUpdates) / float64(max(1, g.row.Acknowledged))
		parts = append(parts, fmt.Sprintf("Where the new value depends on the current value, %s lost %s of its increments, without an error.",
			arm(ssa), Percent(share)))
	}
	if g, found := r.first("steady-state", ssa); found {
		if sent, known := g.row.Measures["requests_per_intent"]; known && sent.Mean > 0.5 {
			text := fmt.Sprintf("If nothing changes, %s sends %s requests per reconcile", arm(ssa), Number(sent.Mean))
			if other, found := r.first("steady-state", r.decided.Square.GMU); found {
				text += fmt.Sprintf(", and %s %s", arm(r.decided.Square.GMU), Number(other.row.Measures["requests_per_intent"].Mean))
			}
			parts = append(parts, text+".")
		}
	}
	if len(parts) == 0 {
		return "This run shows no such case."
	}
	return strings.Join(parts, " ")
}

// added returns the answer about what coapply adds: the comparisons of its arms, over all cells.
func (r *reckoning) added(s Summary) string {
	parts := []string{"Its arms are `apply` (Server-Side Apply) and `update` (get-modify-update)."}
	for _, c := range r.decided.Comparisons {
		if shown := s.shown(c.Name, goodput, r.cells(), s.count); shown != "" {
			parts = append(parts, c.Text+": "+shown+".")
		}
	}
	if len(parts) == 1 {
		return "This run does not compare the arms of coapply with other arms."
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
