package fieldmanagers

import "coapply.dev/fieldowners/contract"

// nodeMarks are what a node under maintenance has; strategy Update writes them by
// get-modify-update.
var nodeMarks = []string{
	".spec.unschedulable",
	`.metadata.annotations["platform.coapply.dev/maintenance"]`,
	`.metadata.annotations["platform.coapply.dev/maintenance-reason"]`,
}

var nodeMaintenance = contract.Contract{
	{Manager: NodeMaintenance, Kind: node, Applies: nodeMarks, Updates: nodeMarks},
	{Manager: NodeMaintenance, Kind: ours("NodeMaintenance"), Updates: []string{
		".status.observedGeneration",
		".status.nodes",
		".status.total",
		".status.succeeded",
		".status.failed",
		".status.startTime",
		".status.completionTime",
		`.status.conditions[type="Complete"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Stalled"]`,
	}},
}
