package summarytest

import (
	"time"

	"coapply.dev/compare"
	"coapply.dev/compare/results"
)

// plan is the cells of a small review.
func plan(blocks int) []results.PlannedCell {
	grid := []string{"gmu-default-retry", "gmu-unbounded", "gmu-lanes", "ssa", "apply"}
	cells := []results.PlannedCell{
		cell("hot-object", 1, 1, 0, grid...),
		cell("hot-object", 4, 4, 0, grid...),
		cell("hot-object", 16, 4, 0, grid...),
		cell("hot-object", 16, 64, 0, grid...),
		cell("hot-object", 16, 4, 5*time.Millisecond, "gmu-default-retry", "gmu-unbounded", "ssa"),
		cell("hot-object", 8, 8, 0, "put-no-rv", "shared-manager"),
		cell("ten-reconcilers", 10, 10, 0, "gmu-default-retry", "gmu", "ssa"),
		cell("steady-state", 1, 1, 0, "gmu-cached", "ssa", "apply"),
		cell("increment", 8, 8, 0, "gmu-default-retry", "ssa"),
		cell("devbox-status", 4, 4, 0, "gmu-default-retry", "gmu-replace", "ssa"),
		cell("license-finalizer", 4, 4, 0, "gmu-default-retry", "merge-patch", "ssa"),
	}
	for i := range cells {
		cells[i].Blocks = blocks
	}
	cells[2].AA = "gmu-default-retry"
	cells[5].Control, cells[5].Baseline, cells[5].Blocks = true, "", min(blocks, 2)
	return cells
}

func cell(workload string, writers, managers int, rtt time.Duration, arms ...string) results.PlannedCell {
	return results.PlannedCell{
		Cell: compare.Cell{Workload: workload, Parameters: compare.Parameters{
			Writers: writers, Objects: 1, Managers: managers, RTT: rtt, Warmup: 300 * time.Millisecond, Duration: 1500 * time.Millisecond,
		}},
		Arms: arms, Baseline: arms[0],
	}
}

func environment() results.Environment {
	fsync, slowest, loopback := 900*time.Microsecond, 4*time.Millisecond, 300*time.Microsecond
	return results.Environment{
		Commit: "0123456789ab", Go: "go1.26.8",
		Modules: map[string]string{"k8s.io/client-go": "v0.36.3", "sigs.k8s.io/controller-runtime": "v0.25.2"},
		OS:      "linux/amd64", Kernel: "6.1.0", CPU: "Synthetic CPU", Cores: 2, GOMAXPROCS: 2, Memory: 8 << 30,
		FileSystem: "ext4", FsyncP50: &fsync, FsyncP99: &slowest, LocalCluster: true, Server: "v1.36.3", Etcd: "3.6.5",
		EtcdFsync: "on", APIServerFlags: map[string]string{"v": "0"}, EtcdFlags: []string{"--unsafe-no-fsync=false"},
		User: "coapply-compare", Groups: []string{"system:authenticated"}, QPS: -1, Encoding: "application/json",
		LoopbackP50: &loopback,
	}
}

func workloads() []results.WorkloadInfo {
	return []results.WorkloadInfo{
		{Name: "hot-object", Summary: "Writers that set fields of their own on one object.", Object: "kind: ConfigMap\n"},
		{Name: "ten-reconcilers", Summary: "Ten reconcilers write one status at once.", Claims: []compare.Claim{
			{Text: "Without retry 1 of 10 succeeds.", Measure: "landed_share", Arm: "gmu", Value: 0.1},
			{
				Text: "With DefaultRetry 10 succeed with 35 calls: 10 GET, 15 retry GET, 10 UPDATE.", Measure: "requests_per_intent",
				Arm: "gmu-default-retry", Value: 3.5, Contradiction: "15 retries imply 25 UPDATE, so 50 calls.",
			},
		}},
		{Name: "steady-state", Summary: "Reconciles that have nothing to change."},
		{Name: "increment", Summary: "Writers that add 1 to one field."},
		{Name: "devbox-status", Summary: "Several reconcilers write parts of one status."},
		{Name: "license-finalizer", Summary: "Finalizers come and go in one list."},
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
