// Package workloads has the workloads that come with the benchmark: each system of the platform as it is written to,
// with the figures that were published about it, and some that show one thing alone.
package workloads

import "coapply.dev/compare"

// All returns the workloads in the order of the report.
func All() []compare.Workload {
	return []compare.Workload{
		hotObject(),
		tenReconcilers(),
		devboxStatus(),
		licenseFinalizer(),
		userNamespace(),
		nodeUncordon(),
		nodesetScale(),
		slurmService(),
		cachePollution(),
		steadyState(),
		increment(),
	}
}
