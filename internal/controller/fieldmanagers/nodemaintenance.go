package fieldmanagers

// nodeMarks are what a node under maintenance has; strategy Update writes them by
// get-modify-update.
var nodeMarks = []string{
	".spec.unschedulable",
	`.metadata.annotations["platform.coapply.dev/maintenance"]`,
	`.metadata.annotations["platform.coapply.dev/maintenance-reason"]`,
}

var nodeMaintenance = []Claim{
	{Manager: NodeMaintenance, Kind: "Node", Paths: nodeMarks},
	{Manager: NodeMaintenance, Kind: "Node", Fallback: true, Paths: nodeMarks},
	{Manager: NodeMaintenance, Kind: "NodeMaintenance.platform.coapply.dev", Fallback: true, Paths: []string{
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
