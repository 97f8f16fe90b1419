package summary

import (
	"fmt"
	"slices"
	"strings"
)

// fairnessThreats are the threats 9 to 16: what would flatter one arm.
func fairnessThreats() []check {
	return []check{
		{
			"managers", "get-modify-update meets one field manager, Server-Side Apply as many as there are writers",
			"managers are a parameter; all of them own fields on the object before any arm writes", managersAlike,
		},
		{
			"force", "force hides what it takes from others", "each value taken from its owner is counted as stolen", forced,
		},
		{
			"naive-rival", "Server-Side Apply against naive get-modify-update only",
			"arms with a cached read and with jitter until success take part", rivals,
		},
		{
			"encoding", "one arm speaks protobuf and the other JSON", "all arms speak the same", encoding,
		},
		{
			"coordinated-omission", "a slow server slows its own measuring",
			"open loop: latency from the scheduled time; closed loop: the report says so", omission,
		},
		{
			"survivorship", "leaving out intents that were given up flatters who gives up early",
			"an intent that did not land has latency without bound, and no goodput", survivors,
		},
		{
			"lock-step", "retries without jitter keep writers in step", "arms with and without jitter are both measured", lockStep,
		},
		{
			"schema", "arms write to other kinds or other list types", "all arms of a cell write the same objects, which are printed", schema,
		},
	}
}

// managersAlike compares the managed fields that arms of a cell leave behind.
func managersAlike(r *reckoning) (verdict, seen string) {
	least, at := 0.0, ""
	for _, ssa := range r.where(func(g group) bool { return g.arm == "ssa" && g.cell.Workload == "hot-object" }) {
		for _, g := range r.where(func(g group) bool { return g.name() == ssa.name() && strings.HasPrefix(g.arm, "gmu") }) {
			if g.result.ManagedFields == nil || ssa.result.ManagedFields == nil || *ssa.result.ManagedFields == 0 {
				continue
			}
			if share := *g.result.ManagedFields / *ssa.result.ManagedFields; at == "" || share < least {
				least, at = share, g.label()
			}
		}
	}
	if at == "" {
		return notApplicable, "no cell of hot-object has both ways"
	}
	// The server keeps ten entries of Update and merges older ones; those of Apply it keeps all.
	return state(least >= 0.5), fmt.Sprintf("managed fields under get-modify-update are at least %s of those under ssa (%s); "+
		"the server merges what updates more than 10 managers made", percent(least), at)
}

func forced(r *reckoning) (verdict, seen string) {
	forcing, stolen := 0, 0
	for _, g := range r.where(func(g group) bool { return g.arm == "ssa-force" }) {
		forcing, stolen = forcing+1, stolen+g.result.Stolen
	}
	if forcing == 0 {
		return notApplicable, "no arm forces in this run"
	}
	return stated, fmt.Sprintf("ssa-force took %s from their owners, in %s", plural(stolen, "value"), plural(forcing, "cell"))
}

func rivals(r *reckoning) (verdict, seen string) {
	cached := r.where(func(g group) bool { return g.arm == "gmu-cached" })
	jittered := r.where(func(g group) bool { return g.arm == "gmu-unbounded" || g.arm == "gmu-exponential" })
	seen = fmt.Sprintf("gmu-cached in %s, gmu-unbounded or gmu-exponential in %s", plural(len(cached), "cell"), plural(len(jittered), "cell"))
	if len(r.where(func(g group) bool { return slices.Contains(appliers, g.arm) })) == 0 {
		return notApplicable, "no arm of Server-Side Apply in this run; " + seen
	}
	if len(cached) > 0 && len(jittered) > 0 {
		return passed, seen
	}
	if r.run.Profile == "custom" { // a question about some arms is no comparison of strategies
		return notApplicable, "the arms were chosen by who ran it; " + seen
	}
	return failed, seen
}

func encoding(r *reckoning) (verdict, seen string) {
	if r.run.Environment.Encoding == "" {
		return notApplicable, "the run does not say"
	}
	return stated, "all arms speak " + r.run.Environment.Encoding
}

func omission(r *reckoning) (verdict, seen string) {
	open, closed, unstarted := 0, 0, 0
	for _, t := range r.counting() {
		if t.Rate > 0 {
			open++
		} else {
			closed++
		}
		if t.Open != nil {
			unstarted += t.Open.Unstarted
		}
	}
	return stated, fmt.Sprintf("%s in closed loop, %d in open loop with %d arrivals that never began",
		plural(closed, "trial"), open, unstarted)
}

func survivors(r *reckoning) (verdict, seen string) {
	above, wrong := 0, []string(nil)
	for _, g := range r.where(func(group) bool { return true }) {
		intents, lost := 0, 0
		for _, t := range g.trials {
			intents, lost = intents+t.Timed.Intents, lost+t.Latency.NotLanded
		}
		if lost*100 <= intents {
			continue
		}
		above++
		if g.result.Latency.P99 != nil {
			wrong = append(wrong, g.label())
		}
	}
	if len(wrong) > 0 {
		return failed, "a p99 although more than 1 % did not land: " + several(wrong)
	}
	return passed, fmt.Sprintf("more than 1 %% of intents did not land in %s of an arm: the p99 is n/a there", plural(above, "cell"))
}

func lockStep(r *reckoning) (verdict, seen string) {
	with := r.where(func(g group) bool { return g.arm == "gmu-unbounded" || g.arm == "gmu-exponential" })
	without := r.where(func(g group) bool { return g.arm == "gmu-default-retry" || g.arm == "gmu" })
	seen = fmt.Sprintf("full jitter in %s, little or none in %s", plural(len(with), "cell"), plural(len(without), "cell"))
	if len(with) == 0 || len(without) == 0 {
		return notApplicable, seen
	}
	return stated, seen
}

func schema(r *reckoning) (verdict, seen string) {
	var kinds, missing []string
	for _, w := range r.run.Workloads {
		if kind := kindOf(w.Object); kind != "" {
			kinds = append(kinds, w.Name+" "+kind)
		} else {
			missing = append(missing, w.Name)
		}
	}
	if len(kinds) == 0 {
		return notApplicable, "no object was kept"
	}
	if len(missing) > 0 {
		kinds = append(kinds, "n/a for "+several(missing))
	}
	return stated, "one kind for all arms: " + strings.Join(kinds, ", ")
}

// kindOf an object in YAML.
func kindOf(object string) string {
	for line := range strings.Lines(object) {
		if kind, found := strings.CutPrefix(line, "kind:"); found {
			return strings.TrimSpace(kind)
		}
	}
	return ""
}
