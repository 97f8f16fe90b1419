package micro

import (
	"coapply.dev/compare/peers/measure"
	"coapply.dev/compare/peers/peer"
)

const micros = 1e-6

func rows(timings map[string]*timing) []measure.Row {
	seconds := func(name string) []float64 { return of(timings, name).seconds }
	allocations := func(name string) []float64 { return of(timings, name).allocations }
	time := func(name string) measure.Peer {
		return measure.Peer{Name: name, Unit: measure.Time, Rounds: seconds(name)}
	}
	others := []measure.Peer{time(pruned)}
	for _, p := range peer.All() {
		if known := seconds(endToEnd(p.Name)); len(known) > 0 {
			others = append(others, measure.Peer{Name: p.Name, Unit: measure.Time, Rounds: known})
		}
	}
	var faster []float64
	for i, ours := range seconds(aloneOtherWrite) {
		faster = append(faster, ours/seconds(extracted)[i])
	}
	return []measure.Row{
		{
			ID: "check", Measure: "the check alone, given object and intent hash, same resourceVersion: time",
			Unit: measure.Time, Must: measure.AtMost(micros), Aim: measure.AtMost(0.3 * micros), Rounds: seconds(alone),
		},
		{
			ID: "check-allocations", Measure: "the same: allocations",
			Unit: measure.Count, Must: measure.AtMost(2), Aim: measure.AtMost(0), Rounds: allocations(alone),
		},
		{
			ID:      "end-to-end",
			Measure: "unchanged reconcile of a Deployment end to end, through `reconciler`: get the parent and the Deployment from the cache, emit, check",
			Unit:    measure.Time, Must: measure.AtMost(25 * micros), Aim: measure.AtMost(12 * micros),
			Rounds: seconds(reconciled), Peers: others,
			Note: "beside it without a reconciler around",
		},
		{
			ID:      "front-door",
			Measure: "the same with the manager's own cache, through `coapply.For`, with a status that the reconciler writes",
			Unit:    measure.Time, Must: measure.AtMost(20 * micros), Aim: measure.AtMost(12 * micros),
			Rounds: seconds(throughFrontDoor),
		},
		{
			ID: "front-door-allocations", Measure: "the same: allocations",
			Unit: measure.Count, Must: measure.AtMost(60), Rounds: allocations(throughFrontDoor),
		},
		{
			ID: "after-another", Measure: "the check of a Deployment after another manager's write",
			Unit: measure.Time, Must: measure.AtMost(60 * micros), Aim: measure.AtMost(25 * micros),
			Rounds: seconds(aloneOtherWrite),
			Peers:  []measure.Peer{time(withEncoding), time(extracted), time(keyed)},
			Note:   "the cache of resourceVersions then sends an apply",
		},
		{
			ID: "after-another-extract", Measure: "the same against Extract + DeepEqual",
			Unit: measure.Times, Must: measure.AtMost(1), Aim: measure.AtMost(1.0 / 10), Rounds: faster,
		},
		{
			ID: "lane", Measure: "lane hand-over without contention: time",
			Unit: measure.Time, Must: measure.AtMost(micros), Aim: measure.AtMost(0.2 * micros), Rounds: seconds(lane),
		},
		{
			ID: "lane-allocations", Measure: "lane hand-over without contention: allocations",
			Unit: measure.Count, Must: measure.AtMost(2), Aim: measure.AtMost(0), Rounds: allocations(lane),
		},
	}
}
