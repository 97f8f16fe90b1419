package fieldmanagers

import "coapply.dev/fieldowners/contract"

var ownService = shared("each has a Service of its own, and leaves what is not its own alone", ".metadata", ".spec")

var serviceFields = []string{
	".metadata.labels",
	".metadata.ownerReferences",
	".spec.type",
	".spec.selector",
	".spec.ports",
}

// Somebody else's object under the name of a child is left alone altogether (package setup).
var devbox = contract.Contract{
	{Manager: DevboxWorkload, Kind: deployment, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.selector",
		".spec.strategy",
		".spec.template.metadata.labels",
		`.spec.template.metadata.annotations["platform.coapply.dev/content-id"]`,
		".spec.template.metadata.finalizers",
		".spec.template.spec.automountServiceAccountToken",
		`.spec.template.spec.containers[name="devbox"].name`,
		`.spec.template.spec.containers[name="devbox"].image`,
		`.spec.template.spec.containers[name="devbox"].ports`,
		`.spec.template.spec.containers[name="devbox"].resources`,
	}},
	{Manager: DevboxPower, Kind: deployment, Applies: []string{".spec.replicas"}},
	{Manager: DevboxNetwork, Kind: service, Applies: serviceFields, Shared: ownService},

	{Manager: DevboxWorkload, Kind: ours("Devbox"), Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/devbox-workload"]`,
		".status.observedGeneration",
		".status.phase",
		".status.lastContainerStatus",
		".status.lastContentID",
		`.status.conditions[type="WorkloadApplied"]`,
		`.status.conditions[type="Ready"]`,
	}},
	{Manager: DevboxPower, Kind: ours("Devbox"), Updates: []string{
		`.status.conditions[type="PowerApplied"]`,
		`.status.conditions[type="Contended"]`,
	}},
	{Manager: DevboxNetwork, Kind: ours("Devbox"), Updates: []string{
		".status.network",
		`.status.conditions[type="NetworkApplied"]`,
	}},
	{Manager: DevboxContent, Kind: ours("Devbox"), Updates: []string{".status.contentID"}},
	// The pod template sets the finalizer, under the Deployment's name; workload removes it.
	{Manager: DevboxWorkload, Kind: pod, Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/record-status"]`,
	}},
}
