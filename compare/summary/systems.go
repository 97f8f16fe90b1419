package summary

import (
	"fmt"
	"strconv"
	"strings"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
	"coapply.dev/compare/statistics"
)

// System is a published claim about an existing system, with the value that this run measured for the claim.
type System struct {
	Workload string `json:"workload"` // the name of the workload that measures the claim
	Claim    string `json:"claim"`    // the text of the claim
	Claimed  string `json:"claimed"`  // the published value; "" if the claim has no number
	Measured string `json:"measured"` // the value in this run
	// Kind is "demonstration" if the construction of the workload decides the outcome, and otherwise "measurement".
	Kind          string `json:"kind"`
	Contradiction string `json:"contradiction,omitempty"` // how the claim contradicts itself
}

// systems returns a System for each published claim that a workload of the run checks, with the measured value.
func (r *reckoning) systems() []System {
	var all []System
	for _, w := range r.run.Workloads {
		for _, claim := range w.Claims {
			s := System{Workload: w.Name, Claim: claim.Text, Claimed: published(claim), Kind: "measurement", Contradiction: claim.Contradiction}
			if w.Demonstration {
				s.Kind = "demonstration"
			}
			s.Measured = r.measured(w.Name, claim)
			all = append(all, s)
		}
	}
	return all
}

func published(claim compare.Claim) string {
	switch {
	case claim.Against != "":
		return strconv.FormatFloat(claim.Value, 'g', -1, 64) + "×"
	case claim.Measure == "", claim.Measure == "lost_updates" && claim.Value == 0:
		return "" // the claim has no number
	}
	return figure(named(claim.Measure), claim.Value)
}

// measured returns the measured values for a claim, as text. There is one value for each cell that contains the claim's arm.
func (r *reckoning) measured(workload string, claim compare.Claim) string {
	if claim.Measure == "" && claim.Against == "" {
		return "the claim names no measure"
	}
	var found []string
	for _, g := range r.ordinary() {
		if g.row.Workload != workload || g.row.Arm != claim.Arm {
			continue
		}
		if claim.Against == "" {
			found = append(found, g.answer(claim.Measure))
			continue
		}
		if other, ok := r.lookup(g.row.Name, claim.Against); ok {
			if ratio, err := paired(g, other, goodput); err == nil {
				found = append(found, fmt.Sprintf("%s (%s)", Times(ratio.Ratio, ratio.Lo, ratio.Hi), Phrase(g.row.Cell)))
			}
		}
	}
	if len(found) == 0 {
		return NA + ": " + arm(claim.Arm) + " was not measured"
	}
	return several(found)
}

// answer formats the group's value of the named measure. The name is in Measures, or it is lost_updates, or it is the
// name of a number that the workload counts.
func (g group) answer(name string) string {
	if name == "lost_updates" {
		return fmt.Sprintf("%s in %s", Count(g.row.LostUpdates), plural(g.row.Acknowledged, "write"))
	}
	name = named(name)
	e, ok := g.row.Measures[name]
	switch {
	case !ok && name == "latency_ms":
		return g.meanLatency()
	case !ok:
		return NA
	case name == "give_up_share":
		return estimatedShare(e) + " given up"
	case strings.HasSuffix(name, "_share"):
		return estimatedShare(e)
	}
	return strings.TrimSpace(Estimated(e) + " " + unitOf(name))
}

// named converts the name of a claim's measure to the name in Measures, such as give_ups to give_up_share.
func named(measure string) string {
	switch measure {
	case "give_ups", "give_up_rate":
		return "give_up_share"
	case "stale_writes":
		return "stale_writes_per_intent"
	}
	return measure
}

// meanLatency returns the mean latency of the intents that landed, averaged over the trials.
func (g group) meanLatency() string {
	e, ok := statistics.Mean(g.values(func(t results.Trial) *float64 {
		d, err := results.Merge(t.Latency)
		if err != nil {
			return nil
		}
		return d.Mean()
	}))
	if !ok {
		return NA
	}
	return Estimated(e) + " ms"
}

func figure(measure string, value float64) string {
	switch {
	case measure == "give_up_share":
		return Percent(value) + " given up"
	case strings.HasSuffix(measure, "_share"):
		return Percent(value)
	}
	return strings.TrimSpace(strconv.FormatFloat(value, 'g', -1, 64) + " " + unitOf(measure))
}

func unitOf(measure string) string {
	switch m, found := measureOf(measure); {
	case measure == "latency_ms":
		return "ms"
	case found && m.Unit != "share":
		return m.Unit
	}
	return ""
}
