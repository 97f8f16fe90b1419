// Package workloads has the workloads of the benchmark. Most of them imitate the writes to an object of the
// platform, and have published claims about it. Some show a single effect.
package workloads

import "coapply.dev/compare"

// All returns the workloads, in the order in which the report shows them.
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
