package functions

import (
	"fmt"
	"strings"

	"coapply.dev/compare/peers/measure"
)

// ours is the name of the benchmarks of coapply itself.
const ours = "coapply"

const unchanged = "coapply.dev/compare/peers/unchanged"

var parts = map[string]part{
	"width": {
		benchmarks: "^BenchmarkChange$", packages: []string{"coapply.dev/compare/peers/cells"}, length: "1x", quick: "1x", rows: changes,
	},
	"requests": {
		benchmarks: "^BenchmarkRequests$", packages: []string{unchanged}, length: "100x", quick: "10x", rows: requests,
	},
	"micro": {
		benchmarks: "^Benchmark(Steady|Lane|Reconcile)$", packages: []string{"coapply.dev/apply", "coapply.dev/apply/lanes", unchanged},
		length: "300ms", quick: "20x", rows: micro,
	},
	"scale": {
		benchmarks: "^BenchmarkIdle$", packages: []string{"coapply.dev/compare/peers/scale"}, length: "1x", quick: "1x", once: true, rows: scale,
	},
}

// changes returns the rows for a change of the round-trip time while 16 writers write.
func changes(v values) (rows []measure.Row) {
	for i, change := range [][2]string{{"0s", "5ms"}, {"5ms", "0s"}} {
		rows = append(rows, measure.Row{
			ID: fmt.Sprint("width-change-", i+1), Unit: measure.Time, Must: measure.AtMost(5), Aim: measure.AtMost(2),
			Series:  "the round trip changes, 16 writers: time until the goodput is 0.85 of that with the best fixed width",
			Measure: fmt.Sprintf("round trip from +%s to +%s", change[0], change[1]), Rounds: v.of("Change", "s-to-"+change[1]),
		})
	}
	return rows
}

func requests(v values) []measure.Row {
	row := measure.Row{
		ID: "requests", Measure: "requests per unchanged reconcile, other managers writing all the time", Unit: measure.Count,
		Must: measure.AtMost(0), Aim: measure.AtMost(0), Rounds: v.of(ours, "requests/op"),
	}
	for _, name := range v.names {
		if name != ours {
			row.Peers = append(row.Peers, measure.Peer{Name: name, Unit: measure.Count, Rounds: v.of(name, "requests/op")})
		}
	}
	return []measure.Row{row}
}

const micros = 1e-6

func micro(v values) []measure.Row {
	const sameVersion, otherVersion, lane, frontDoor = "check/same-version", "check/other-version", "uncontended", "through coapply.For"
	time := func(id, what string, must, aim float64, benchmark string, peers ...string) measure.Row {
		row := measure.Row{
			ID: id, Measure: what, Unit: measure.Time, Must: measure.AtMost(must * micros), Aim: measure.AtMost(aim * micros),
			Rounds: v.of(benchmark, "sec/op"),
		}
		for _, name := range peers {
			row.Peers = append(row.Peers, measure.Peer{Name: strings.TrimPrefix(name, "check/"), Unit: measure.Time, Rounds: v.of(name, "sec/op")})
		}
		return row
	}
	allocations := func(id string, must float64, benchmark string) measure.Row {
		return measure.Row{
			ID: id, Measure: "the same: allocations", Unit: measure.Count, Must: measure.AtMost(must), Rounds: v.of(benchmark, "allocs/op"),
		}
	}
	const extract, cache = "check/Extract + DeepEqual", "check/resourceVersion cache"
	faster := measure.Row{
		ID: "after-another-extract", Measure: "the same against Extract + DeepEqual", Unit: measure.Times,
		Must: measure.AtMost(1), Aim: measure.AtMost(1.0 / 10),
	}
	theirs := v.of(extract, "sec/op")
	for i, check := range v.of(otherVersion, "sec/op") {
		if i < len(theirs) {
			faster.Rounds = append(faster.Rounds, check/theirs[i])
		}
	}
	after := time("after-another", "the check of a Deployment after another manager's write", 60, 25, otherVersion,
		"check/with the intent's encoding", extract, cache)
	after.Note = "the cache of resourceVersions then sends an apply"
	return []measure.Row{
		time("check", "the check alone, given object and intent hash, same resourceVersion: time", 1, 0.3, sameVersion),
		allocations("check-allocations", 2, sameVersion),
		time("end-to-end", "unchanged reconcile of a Deployment end to end: get from the cache, emit, encode, check", 25, 12, ours,
			"resourceVersion cache", "Extract + DeepEqual", "CreateOrUpdate"),
		time("front-door", "the same with the manager's own cache, through `coapply.For`, with a status that the reconciler writes", 20, 12, frontDoor),
		allocations("front-door-allocations", 60, frontDoor),
		after, faster,
		time("lane", "lane hand-over without contention: time", 1, 0.2, lane),
		allocations("lane-allocations", 2, lane),
	}
}

// scale returns the rows for an idle manager process. The notes for CPU and memory compare this process with a process
// that has hand-written reconcilers. The note for CPU also has the value of a process with only the cache.
func scale(v values) []measure.Row {
	const benchmark = "Idle"
	objects := measure.Median(v.of(benchmark, "objects"))
	row := func(id, what string, unit measure.Unit, must, aim float64, metric, note string) measure.Row {
		return measure.Row{
			ID: id, Measure: fmt.Sprintf("%.0f objects × 4 managers, steady: %s", objects, what), Unit: unit, Must: measure.AtMost(must), Aim: measure.AtMost(aim),
			Rounds: v.of(benchmark, metric), Note: note,
		}
	}
	text := func(unit measure.Unit, metric string) string {
		return unit.Text(measure.Median(v.of(benchmark, metric)))
	}
	return []measure.Row{
		row("scale-cpu", "CPU of the manager process, as a share of one core", measure.Share, 0.03, 0.01, "cpu", fmt.Sprintf(
			"%s reconciles and %s writes of others; the cache alone %s; reconcilers written by hand %s; with nobody else writing %s",
			text(measure.Count, "reconciles"), text(measure.Count, "others-writes"), text(measure.Share, "cpu-cache"),
			text(measure.Share, "cpu-by-hand"), text(measure.Share, "cpu-quiet"))),
		row("scale-memory", "memory of the manager process beyond the informer cache", measure.Bytes, 64<<20, 32<<20, "heap-bytes",
			"heap; reconcilers written by hand "+text(measure.Bytes, "heap-by-hand-bytes")),
		row("scale-restart", "restart to quiet, write requests", measure.Count, 0.2*objects, 0, "restart-writes", ""),
	}
}
