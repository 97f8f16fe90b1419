package summary

import (
	"cmp"
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
	ours       = "apply"
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
		part := fmt.Sprintf("on hot-object against %s, %s lands ", rival, plainApply) + found.sentence("more intents a second", "fewer")
		if flip := found.flip(); flip != "" {
			part += ", and it flips " + flip
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ") + "."
}

// serverLine is of the same rivals: who never gives up pays for fewer attempts that come to nothing.
func (r *reckoning) serverLine() string {
	var parts []string
	for _, rival := range []string{usualGMU, patientGMU} {
		found := r.tally(cpuMeasure, rival)
		switch text := found.nothing(rival); {
		case len(found.rows) == 0:
			parts = append(parts, fmt.Sprintf("n/a against %s: the CPU of the API server was not measured where both %s and it ran", rival, plainApply))
		case text != "":
			parts = append(parts, text)
		default:
			parts = append(parts, fmt.Sprintf("on hot-object an intent by %s costs the API server ", plainApply)+found.sentence("less CPU than by "+rival, "more"))
		}
	}
	line := strings.Join(parts, "; ")
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

// correctnessLine tells losses that nobody expects from those that the arm's way of writing explains.
func (r *reckoning) correctnessLine() string {
	var parts []string
	unexpected, explained := r.losses()
	if len(unexpected) > 0 {
		parts = append(parts, "LOST, and must not: "+several(unexpected))
	}
	if arms, acknowledged := r.clean(); arms > 0 {
		_, upper, _ := statistics.Proportion(0, acknowledged)
		parts = append(parts, fmt.Sprintf("%s lost nothing anywhere, in %s (95 %% sure: fewer than %s)",
			plural(arms, "arm"), plural(acknowledged, "acknowledged write"), bound(upper)))
	}
	if len(explained) > 0 {
		parts = append(parts, "lost, as the way of writing explains: "+strings.Join(explained, ", "))
	}
	return strings.Join(append(parts, "the controls were caught."), "; ")
}

// losses gives those of ordinary arms: cell by cell if nobody expects them, otherwise arm by arm, with the workloads.
func (r *reckoning) losses() (unexpected, explained []string) {
	for _, arm := range r.arms() {
		var workloads []string
		for _, g := range r.where(func(g group) bool { return g.arm == arm && !g.cell.Control && g.result.LostUpdates > 0 }) {
			switch {
			case expectedLoss(arm, g.cell.Workload) == "":
				unexpected = append(unexpected, g.label()+" "+g.lost())
			case !slices.Contains(workloads, g.cell.Workload):
				workloads = append(workloads, g.cell.Workload)
			}
		}
		if len(workloads) > 0 {
			explained = append(explained, arm+" in "+strings.Join(workloads, " and "))
		}
	}
	return unexpected, explained
}

// clean counts the arms that lost nothing in any cell, and their acknowledged writes.
func (r *reckoning) clean() (arms, acknowledged int) {
	for _, arm := range r.arms() {
		lost, writes := 0, 0
		for _, g := range r.where(func(g group) bool { return g.arm == arm && !g.cell.Control }) {
			lost, writes = lost+g.result.LostUpdates, writes+g.result.Acknowledged
		}
		if lost == 0 && writes > 0 {
			arms, acknowledged = arms+1, acknowledged+writes
		}
	}
	return arms, acknowledged
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

// giveUpLine names the arms that give up most, each where it is worst.
func (r *reckoning) giveUpLine() string {
	var worst []group
	var none []string
	for _, arm := range r.arms() {
		groups := r.where(func(g group) bool { return g.arm == arm && !g.cell.Control && g.result.GiveUpShare != nil })
		if len(groups) == 0 {
			continue
		}
		w := slices.MaxFunc(groups, moreGiveUps)
		switch {
		case w.result.GiveUps == 0:
			none = append(none, arm)
		case *w.result.GiveUpShare >= noteworthyGiveUps:
			worst = append(worst, w)
		}
	}
	slices.SortStableFunc(worst, func(a, b group) int { return moreGiveUps(b, a) })
	line := "no arm gave up 1 % of its intents anywhere"
	if len(worst) > 0 {
		line = "of their intents did not land: " + named(worst)
	}
	if len(none) > 0 {
		line += "; none given up by " + strings.Join(none, ", ")
	}
	return line + "."
}

// named gives the first few, and Server-Side Apply wherever it stands.
func named(worst []group) string {
	const most = 4
	var rows []string
	for i, g := range worst {
		if i >= most && g.arm != plainApply && g.arm != ours {
			continue
		}
		text := fmt.Sprintf("%s up to %s (%s", g.arm, percent(*g.result.GiveUpShare), g.name())
		if 2*g.result.Conflicts > g.result.GiveUps {
			text += ", by ownership conflicts"
		}
		if g.thin() {
			text += ", few trials"
		}
		rows = append(rows, text+")")
	}
	if hidden := len(worst) - len(rows); hidden > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(rows, ", "), hidden)
	}
	return strings.Join(rows, ", ")
}

func moreGiveUps(a, b group) int { return cmp.Compare(*a.result.GiveUpShare, *b.result.GiveUpShare) }
