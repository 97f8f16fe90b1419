package fieldmanagers

import "coapply.dev/fieldowners/contract"

var slurm = contract.Contract{
	{Manager: SlurmController, Kind: statefulSet, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.replicas",
		".spec.serviceName",
		".spec.podManagementPolicy",
		".spec.selector",
		".spec.template.metadata.labels",
		".spec.template.spec.automountServiceAccountToken",
		`.spec.template.spec.containers[name="slurmctld"].name`,
		`.spec.template.spec.containers[name="slurmctld"].image`,
		`.spec.template.spec.containers[name="slurmctld"].ports`,
		`.spec.template.spec.containers[name="slurmctld"].resources`,
	}},
	{Manager: SlurmController, Kind: service, Applies: serviceFields, Shared: ownService},
	{Manager: SlurmController, Kind: ours("SlurmController"), Updates: []string{
		".status.observedGeneration",
		".status.serviceName",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},

	{Manager: NodeSet, Kind: pod, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.automountServiceAccountToken",
		`.spec.containers[name="slurmd"].name`,
		`.spec.containers[name="slurmd"].image`,
		`.spec.containers[name="slurmd"].env`,
		`.spec.containers[name="slurmd"].resources`,
	}},
	{Manager: NodeSet, Kind: ours("NodeSet"), Updates: []string{
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
