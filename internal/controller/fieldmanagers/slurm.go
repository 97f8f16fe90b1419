package fieldmanagers

var slurm = []Claim{
	{Manager: SlurmController, Kind: "StatefulSet.apps", Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec",
	}},
	{Manager: SlurmController, Kind: "Service", Shared: ownService, Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec",
	}},
	{Manager: SlurmController, Kind: "SlurmController.platform.coapply.dev", Fallback: true, Paths: []string{
		".status.serviceName",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},

	{Manager: NodeSet, Kind: "Pod", Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec",
	}},
	{Manager: NodeSet, Kind: "NodeSet.platform.coapply.dev", Fallback: true, Paths: []string{
		".status.observedGeneration",
		".status.replicas",
		".status.readyReplicas",
		".status.updatedReplicas",
		".status.revision",
		".status.selector",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},
}
