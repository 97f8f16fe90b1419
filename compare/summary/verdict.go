package summary

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/compare/statistics"
)

// verdict is five lines for who decides: speed, the server's cost, correctness, give-ups, what to choose.
func (r *reckoning) verdict() []string {
	if r.void != "" {
		return []string{
			"Speed: no verdict, the run is void: " + r.void + ".",
			"Server: no verdict, the run is void.",
			"Correctness: no verdict, the run is void: a loss that was found may be real, a loss that was not found proves nothing.",
			"Give-ups: no verdict, the run is void.",
			"Choose: nothing by this run; repeat it.",
		}
	}
	return []string{
		"Speed: " + r.speedLine(), "Server: " + r.serverLine(), "Correctness: " + r.correctnessLine(),
		"Give-ups: " + r.giveUpLine(), "Choose: " + r.choiceLine(),
	}
}

const (
	plainApply = "ssa"
	usualGMU   = "gmu-default-retry"
	patientGMU = "gmu-unbounded" // gives nothing up
)

// speedLine is of plain Server-Side Apply against get-modify-update as it is used, and against that which gives nothing up.
func (r *reckoning) speedLine() string {
	var parts []string
	for _, rival := range []string{usualGMU, patientGMU} {
		found := r.tally(goodputMeasure, rival)
		if text := found.nothing(rival); text != "" {
			parts = append(parts, text)
			continue
		}
		part := fmt.Sprintf("against %s, %s lands ", rival, plainApply) + found.sentence("more intents a second", "fewer")
		if flip := found.flip(); flip != "" {
			part += ", and it flips " + flip
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ") + "."
}

func (r *reckoning) serverLine() string {
	found := r.tally(cpuMeasure, usualGMU)
	if len(found.rows) == 0 {
		return "n/a: the CPU of the API server was not measured where both " + plainApply + " and " + usualGMU + " ran."
	}
	if text := found.nothing(usualGMU); text != "" {
		return text + "."
	}
	line := fmt.Sprintf("an intent by %s costs the API server ", plainApply) +
		found.sentence("less CPU than by "+usualGMU, "more")
	worst, at := 0.0, ""
	for _, g := range r.where(func(g group) bool { return g.arm == plainApply && g.result.ServerAttempts != nil }) {
		if a := *g.result.ServerAttempts; a > worst {
			worst, at = a, g.name()
		}
	}
	if at != "" {
		line += fmt.Sprintf("; the server makes up to %.3g attempts for each of its writes (%s), and its clients see none of them", worst, at)
	}
	return line + "."
}

func (r *reckoning) correctnessLine() string {
	lost, acknowledged := 0, 0
	var losers []string
	var clean []string
	for _, arm := range r.arms() {
		armLost, armAcknowledged, where := 0, 0, []string(nil)
		for _, g := range r.where(func(g group) bool { return g.arm == arm && !g.cell.Control }) {
			armLost, armAcknowledged = armLost+g.result.LostUpdates, armAcknowledged+g.result.Acknowledged
			if g.result.LostUpdates > 0 {
				where = append(where, g.cell.Workload)
			}
		}
		if armLost > 0 {
			losers = append(losers, fmt.Sprintf("%s %d of %d (in %s)", arm, armLost, armAcknowledged, strings.Join(slices.Compact(where), ", ")))
			continue
		}
		if armAcknowledged > 0 {
			clean, acknowledged, lost = append(clean, arm), acknowledged+armAcknowledged, lost+armLost
		}
	}
	line := "no arm lost none"
	if _, upper, ok := statistics.Proportion(lost, acknowledged); ok {
		line = fmt.Sprintf("%s lost none of %d acknowledged writes (95 %% sure: fewer than %s)",
			strings.Join(clean, ", "), acknowledged, percent(upper))
	}
	if len(losers) > 0 {
		line += "; lost updates: " + strings.Join(losers, ", ")
	}
	return line + "; the controls were caught."
}

// arms in the order of the plan, each once, without the controls.
func (r *reckoning) arms() []string {
	var arms []string
	for _, g := range r.where(func(g group) bool { return !g.cell.Control }) {
		if !slices.Contains(arms, g.arm) {
			arms = append(arms, g.arm)
		}
	}
	return arms
}

// noteworthyGiveUps is the share from which an arm is named.
const noteworthyGiveUps = 0.01

func (r *reckoning) giveUpLine() string {
	var rows, none []string
	for _, arm := range r.arms() {
		worst, at, all, thin := 0.0, "", 0, false
		for _, g := range r.where(func(g group) bool { return g.arm == arm && !g.cell.Control && g.result.GiveUpShare != nil }) {
			all += g.result.GiveUps
			if share := *g.result.GiveUpShare; share > worst {
				worst, at, thin = share, g.name(), g.thin()
			}
		}
		switch {
		case all == 0:
			none = append(none, arm)
		case worst >= noteworthyGiveUps:
			text := fmt.Sprintf("%s up to %s (%s)", arm, percent(worst), at)
			if thin {
				text += ", of few trials"
			}
			rows = append(rows, text)
		}
	}
	var parts []string
	if len(rows) > 0 {
		parts = append(parts, "of their intents did not land: "+strings.Join(rows, ", "))
	} else {
		parts = append(parts, "no arm gave up 1 % of its intents anywhere")
	}
	if len(none) > 0 {
		parts = append(parts, strings.Join(none, ", ")+" gave up none")
	}
	return strings.Join(parts, "; ") + "."
}
