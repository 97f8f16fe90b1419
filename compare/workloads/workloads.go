// Package workloads defines the workloads of the benchmark. Most of them imitate the writes of the example platform
// to one kind of object. Each of the others shows a single effect.
package workloads

import "coapply.dev/compare"

// All returns the workloads, in the order in which the report shows them.
func All() []compare.Workload {
	return []compare.Workload{
		hotObject(), contestedField(),
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
		hotDeployment(),
		sizedObject(2),
		sizedObject(20),
	}
}
