package summary

import "slices"

// Families of arms, by what the benchmark's own are called.
var (
	appliers = []string{"ssa", "ssa-force", "update-then-ssa", "apply"}
	// blind arms send what they reckoned from a read without its resourceVersion.
	blind = append([]string{"merge-patch", "three-way-merge"}, appliers...)
)

// uneven workloads give their arms different work to do.
var uneven = map[string]string{
	"nodeset-scale":   "the arms make different numbers of pods",
	"cache-pollution": "the workload itself makes the cached read stale",
	"fight":           "who is rejected does not write",
}

// expectedLoss says why an arm that is no control loses updates in a workload; "" if it must not.
func expectedLoss(arm, workload string) string {
	switch {
	case arm == "gmu-replace":
		return "it replaces what others wrote"
	case workload == "increment" && slices.Contains(blind, arm):
		return "it sends no resourceVersion, so nothing ties the new value to the one that was read"
	case workload == "license-finalizer" && arm == "merge-patch":
		return "a merge patch replaces the whole list"
	case arm == "naive":
		return "it decides on an old count"
	}
	return ""
}
