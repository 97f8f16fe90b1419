// Package workloads has the workloads of the benchmark. Most of them imitate the writes to one kind of object of the
// example platform, and test published claims about these writes. The other workloads show a single effect.
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
