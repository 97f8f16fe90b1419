package summarytest

import (
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// plan is the cells of a small review: those that were decided, as far as it has their workloads.
func plan(blocks int) []results.PlannedCell {
	grid := []string{"gmu-default-retry", "gmu-requeue", "gmu-unbounded", "patch-lock", "gmu-lanes", "update", "ssa", "ssa-lanes", "apply"}
	var cells []results.PlannedCell
	for _, p := range []compare.Parameters{
		{Writers: 1, Managers: 4}, {Writers: 4, Managers: 4}, {Writers: 16, Managers: 4}, {Writers: 64, Managers: 4},
		{Writers: 1, Managers: 4, RTT: 5 * time.Millisecond}, {Writers: 4, Managers: 4, RTT: 5 * time.Millisecond},
		{Writers: 16, Managers: 4, RTT: 5 * time.Millisecond}, {Writers: 64, Managers: 4, RTT: 5 * time.Millisecond},
		{Writers: 4, Managers: 4, Processes: 4, RTT: time.Millisecond},
	} {
		cells = append(cells, cell("hot-object", p, grid...))
	}
	cells[1].AA, cells[2].AA = "ssa", "gmu-requeue"
	cells = append(cells,
		cell("ten-reconcilers", compare.Parameters{Writers: 10, Managers: 10}, "gmu-default-retry", "gmu", "ssa"),
		cell("steady-state", compare.Parameters{Writers: 4, Managers: 4}, "gmu-requeue", "ssa", "apply"),
		cell("increment", compare.Parameters{Writers: 8, Managers: 1}, "gmu-requeue", "ssa", "apply", "update"),
		cell("devbox-status", compare.Parameters{Writers: 4, Managers: 4}, "gmu-default-retry", "gmu-replace", "ssa", "apply"),
		cell("hot-object", compare.Parameters{Writers: 4, Managers: 4}, "put-no-rv", "shared-manager"),
	)
	for i := range cells {
		cells[i].Blocks = blocks
	}
	last := len(cells) - 1
	cells[last].Control, cells[last].Baseline, cells[last].Blocks = true, "", min(blocks, 2)
	return cells
}

func cell(workload string, p compare.Parameters, arms ...string) results.PlannedCell {
	p.Objects, p.Warmup, p.Duration = 1, 300*time.Millisecond, 1500*time.Millisecond
	if p.Processes == 0 {
		p.Processes = 1
	}
	return results.PlannedCell{Cell: compare.Cell{Workload: workload, Parameters: p}, Arms: arms, Baseline: arms[0]}
}

func environment() results.Environment {
	fsync, slowest, loopback := 900*time.Microsecond, 4*time.Millisecond, 300*time.Microsecond
	return results.Environment{
		Commit: "0123456789ab", Go: "go1.26.8",
		Modules: map[string]string{"k8s.io/client-go": "v0.36.3", "sigs.k8s.io/controller-runtime": "v0.25.2"},
		OS:      "linux/amd64", Kernel: "6.1.0", CPU: "Synthetic CPU", Cores: 2, GOMAXPROCS: 2, Memory: 8 << 30,
		FileSystem: "ext4", FsyncP50: &fsync, FsyncP99: &slowest, LocalCluster: true, Server: "v1.36.3", Etcd: "3.6.5",
		ServerCores: []int{0}, GeneratorCores: []int{1}, EtcdFsync: "on", APIServerFlags: map[string]string{"v": "0"}, EtcdFlags: []string{"--unsafe-no-fsync=false"},
		User: "coapply-compare", Groups: []string{"system:authenticated"}, QPS: -1, Encoding: "application/json",
		LoopbackP50: &loopback,
	}
}

func workloads() []results.WorkloadInfo {
	return []results.WorkloadInfo{
		{Name: "hot-object", Summary: "Writers that set fields of their own on one object.", Object: "kind: ConfigMap\n"},
		{Name: "ten-reconcilers", Summary: "Ten reconcilers write one status at once.", Demonstration: true, Claims: []compare.Claim{
			{Text: "without retry 1 of 10 succeeds", Measure: "give_up_share", Arm: "gmu", Value: 0.9},
			{
				Text: "with DefaultRetry 10 succeed with 35 calls: 10 GET, 15 retry GET, 10 UPDATE", Measure: "requests_per_intent",
				Arm: "gmu-default-retry", Value: 3.5, Contradiction: "15 retries imply 25 UPDATE, so 50 calls",
			},
			{Text: "without retry a write takes 50 ms in the mean", Measure: "latency_ms", Arm: "gmu", Value: 50},
		}},
		{Name: "steady-state", Summary: "Reconciles that have nothing to change."},
		{Name: "increment", Summary: "Writers that add 1 to one field."},
		{Name: "devbox-status", Summary: "Several reconcilers write parts of one status.", Claims: []compare.Claim{
			{Text: "a closure that replaces the whole status loses the fields of others", Measure: "lost_updates", Arm: "gmu-replace"},
			{Text: "several writers land more by Server-Side Apply", Arm: "ssa", Against: "gmu-default-retry", Value: 1.115},
		}},
	}
}

func armInfos(cells []results.PlannedCell) []results.ArmInfo {
	var arms []results.ArmInfo
	seen := map[string]bool{}
	for _, cell := range cells {
		for _, arm := range cell.Arms {
			if seen[arm] {
				continue
			}
			seen[arm] = true
			arms = append(arms, results.ArmInfo{
				Name: arm, Summary: "The arm " + arm + ".", Source: "func write() { /* " + arm + " */ }\n", Control: cell.Control,
			})
		}
	}
	return arms
}
