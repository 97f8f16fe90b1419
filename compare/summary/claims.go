package summary

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// claims puts what was published beside what was measured, in the order of the run's workloads.
func (r *reckoning) claims() []results.ClaimCheck {
	all := []results.ClaimCheck{}
	for _, w := range r.run.Workloads {
		for _, claim := range w.Claims {
			all = append(all, results.ClaimCheck{
				Workload: w.Name, Text: claim.Text, Measured: r.answer(w.Name, claim), Contradiction: claim.Contradiction,
			})
		}
	}
	return all
}

// answer gives the claim's measure in each cell of the workload that has the arm.
func (r *reckoning) answer(workload string, claim compare.Claim) string {
	switch {
	case claim.Against != "":
		return r.answerRatio(workload, claim)
	case claim.Measure == "":
		return "not measured by a number"
	}
	var answers, values []string
	for _, g := range r.where(func(g group) bool { return g.cell.Workload == workload && g.arm == claim.Arm && !g.cell.Control }) {
		value := claimed(claim.Measure) + " " + g.measured(claim.Measure)
		text := value + fmt.Sprintf(" (%s, %s)", g.label(), plural(len(g.trials), "trial"))
		if claim.Measure == "requests_per_intent" {
			text += ": " + g.calls()
		}
		answers, values = append(answers, text), append(values, value)
	}
	if len(answers) > 1 && len(slices.Compact(values)) == 1 {
		answers = []string{fmt.Sprintf("%s (%s in each of %s)", values[0], claim.Arm, plural(len(answers), "cell"))}
	}
	if len(answers) == 0 {
		return fmt.Sprintf("%s was not measured in this run", either(claim.Arm, "the arm"))
	}
	if r.void != "" {
		return "the run is void; " + strings.Join(answers, "; ")
	}
	return strings.Join(answers, "; ")
}

// answerRatio gives the ratio of goodput in each cell of the workload that has both arms.
func (r *reckoning) answerRatio(workload string, claim compare.Claim) string {
	var answers []string
	for _, planned := range r.run.Plan {
		if planned.Workload != workload || planned.Control {
			continue
		}
		if c, found := r.stated(planned.String(), claim.Arm, claim.Against, goodputMeasure); found && c.Ratio > 0 {
			answers = append(answers, fmt.Sprintf("%s (%s)", ratioText(c), c.Cell))
		}
	}
	if len(answers) == 0 {
		return fmt.Sprintf("no cell of this run has both %s and %s", claim.Arm, claim.Against)
	}
	text := fmt.Sprintf("goodput of %s against %s: %s", claim.Arm, claim.Against, strings.Join(answers, ", "))
	if r.void != "" {
		return "the run is void; " + text
	}
	return text
}

// calls by verb, of a round where the cell has rounds: one intent of each writer.
func (g group) calls() string {
	of, divisor := "an intent that landed", 0.0
	counts := map[string]float64{}
	for _, t := range g.trials {
		for verb, r := range t.Client.Requests {
			counts[verb] += float64(r.Count)
		}
		if g.cell.Rounds > 0 {
			of, divisor = "a round", divisor+float64(t.All.Intents)/float64(max(1, g.cell.Writers))
		} else {
			divisor += float64(t.All.Landed)
		}
	}
	if divisor == 0 || len(counts) == 0 {
		return "no calls"
	}
	var verbs []string
	for verb := range counts {
		verbs = append(verbs, verb)
	}
	slices.Sort(verbs)
	for i, verb := range verbs {
		verbs[i] = fmt.Sprintf("%.3g × %s", counts[verb]/divisor, verb)
	}
	return strings.Join(verbs, ", ") + " for " + of
}

// measured finds a measure by its name in results.json, with dots for what lies deeper: latency_ms.p50, extra.duplicates.
// An interval is its mean. Besides: "latency_ms" is the mean of those that landed, "NAME_per_intent" a count over the
// intents, and "give_up_rate" the give_up_share.
func (g group) measured(name string) string {
	switch name {
	case "give_up_rate":
		name = "give_up_share"
	case "latency_ms":
		return g.meanLatency()
	}
	// Going through JSON, names mean here what they mean to a reader of the file.
	data, err := json.Marshal(g.result)
	if err != nil {
		return "n/a"
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "n/a"
	}
	value, ok := number(fields, name)
	if counted, cut := strings.CutSuffix(name, "_per_intent"); !ok && cut && g.result.Intents > 0 {
		value, ok = number(fields, counted)
		value /= float64(g.result.Intents)
	}
	if !ok {
		return "n/a"
	}
	switch {
	case strings.HasSuffix(name, "_share"):
		return percent(value)
	case value == math.Trunc(value):
		return strings.TrimSpace(count(int(value)) + " " + unitOf(name))
	}
	return strings.TrimSpace(fmt.Sprintf("%.3g %s", value, unitOf(name)))
}

// claimed says in words what a measure is.
func claimed(measure string) string {
	name := strings.TrimSuffix(strings.TrimPrefix(measure, "extra."), "_ms")
	return strings.ReplaceAll(name, "_", " ")
}

func (g group) meanLatency() string {
	var latencies []results.Latency
	for _, t := range g.trials {
		latencies = append(latencies, t.Latency)
	}
	d, err := results.Merge(latencies...)
	if err != nil || d.Mean() == nil {
		return "n/a"
	}
	return fmt.Sprintf("%.3g ms in the mean of the %s that landed", *d.Mean(), count(int(d.Landed())))
}

func number(fields map[string]any, name string) (float64, bool) {
	first, rest, deeper := strings.Cut(name, ".")
	switch value := fields[first].(type) {
	case float64:
		return value, !deeper
	case map[string]any:
		if !deeper {
			rest = "mean"
		}
		return number(value, rest)
	}
	return 0, false
}

func unitOf(name string) string {
	switch {
	case strings.Contains(name, "_ms"):
		return "ms"
	case strings.HasSuffix(name, "_per_s"):
		return "/s"
	}
	return ""
}
