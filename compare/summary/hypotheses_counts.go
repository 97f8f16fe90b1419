package summary

import "fmt"

func steadyRequests(r *reckoning) []part {
	var parts []part
	for _, p := range []struct {
		arm       string
		low, high float64
	}{{"ssa", 0.99, 1.01}, {"gmu-cached", 0, 0.01}, {"apply", 0, 0.01}} {
		measured := r.where(func(g group) bool {
			return g.cell.Workload == "steady-state" && g.arm == p.arm && g.result.RequestsPerIntent != nil
		})
		for _, g := range measured {
			n := *g.result.RequestsPerIntent
			parts = append(parts, part{bounded(n >= p.low && n <= p.high), fmt.Sprintf("%s %.3g for a reconcile", p.arm, n)})
		}
		if len(measured) == 0 {
			parts = append(parts, untested(p.arm))
		}
	}
	return parts
}

// losses sums over the cells: one lost update anywhere is one too many, or enough.
func losses(r *reckoning) []part {
	var parts []part
	add := func(name string, some bool, is func(group) bool) {
		lost, acknowledged, found := 0, 0, false
		for _, g := range r.where(is) {
			lost, acknowledged, found = lost+g.result.LostUpdates, acknowledged+g.result.Acknowledged, true
		}
		if !found {
			parts = append(parts, untested(name))
		} else {
			parts = append(parts, part{bounded(lost > 0 == some), fmt.Sprintf("%s lost %s in %s", name, plural(lost, "value"), plural(acknowledged, "write"))})
		}
	}
	for _, arm := range []string{"ssa", "gmu-default-retry", "merge-patch-rv"} {
		add(arm, false, func(g group) bool { return g.arm == arm && (arm != "ssa" || g.cell.Workload != "increment") })
	}
	for _, arm := range []string{"put-no-rv", "shared-manager"} {
		add(arm, true, func(g group) bool { return g.arm == arm })
	}
	add("merge-patch on a list", true, func(g group) bool { return g.arm == "merge-patch" && g.cell.Workload == "license-finalizer" })
	add("ssa on increments", true, func(g group) bool { return g.arm == "ssa" && g.cell.Workload == "increment" })
	return parts
}
