package functions

import (
	"slices"
	"testing"

	"coapply.dev/compare/peers/measure"
)

// printed is what go test prints of the benchmarks, cut short.
const printed = `goos: linux
pkg: coapply.dev/compare/peers/unchanged
BenchmarkRequests/coapply-2                 	100	5000000 ns/op	0 requests/op	1 B/op	1 allocs/op
BenchmarkRequests/client.Apply_forced-2     	100	5000000 ns/op	1.000 requests/op	1 B/op	1 allocs/op
BenchmarkRequests/fluxcd/pkg/ssa-2          	100	5000000 ns/op	2.210 requests/op	1 B/op	1 allocs/op
BenchmarkSteady/check/same-version-2        	100	90 ns/op	0 B/op	0 allocs/op
BenchmarkSteady/check/other-version-2       	100	20000 ns/op	0 B/op	0 allocs/op
BenchmarkLane/uncontended-2                 	100	200 ns/op	0 B/op	1 allocs/op
BenchmarkReconcile/coapply-2                	100	19000 ns/op	0 B/op	90 allocs/op
BenchmarkReconcile/through_coapply.For-2    	100	20000 ns/op	0 B/op	103 allocs/op
BenchmarkReconcile/check/Extract_+_DeepEqual-2	100	330000 ns/op	0 B/op	90 allocs/op
BenchmarkIdle-2	1	60000000000 ns/op	10000 objects	0.027 cpu	0.01 cpu-cache	1048576 heap-bytes	0 restart-writes
BenchmarkChange-2	1	60000000000 ns/op	1.400 s-to-5ms	0.200 s-to-0s
PASS
`

// TestRows: each row has the values of its benchmark, of every round.
func TestRows(t *testing.T) {
	read := values{found: map[[2]string][]float64{}}
	read.add([]byte(printed))
	read.add([]byte(printed))
	rows := map[string]measure.Row{}
	for name, p := range parts {
		if name == "requests" {
			var only values // of one command
			only.names, only.found = []string{"coapply", "client.Apply forced", "fluxcd/pkg/ssa"}, read.found
			rows["requests"] = p.rows(only)[0]
			continue
		}
		for _, row := range p.rows(read) {
			rows[row.ID] = row
		}
	}
	for id, want := range map[string]float64{
		"requests": 0, "check": 90e-9, "check-allocations": 0, "front-door": 20e-6, "front-door-allocations": 103,
		"after-another": 20e-6, "after-another-extract": 20. / 330, "lane": 200e-9, "lane-allocations": 1, "scale-cpu": 0.027,
		"scale-memory": 1 << 20, "scale-restart": 0, "width-change-1": 1.4, "width-change-2": 0.2,
	} {
		if got := rows[id].Rounds; len(got) != 2 || got[0] < want*0.999 || got[0] > want*1.001 {
			t.Errorf("%s: %v, want %g twice", id, got, want)
		}
	}
	peers := rows["requests"].Peers
	if i := slices.IndexFunc(peers, func(p measure.Peer) bool { return p.Name == "fluxcd/pkg/ssa" }); i < 0 || len(peers) != 2 || peers[i].Rounds[0] != 2.21 {
		t.Errorf("%+v", peers)
	}
}
