package fieldmanagers

const ownService = "each has a Service of its own, and leaves what is not its own alone"

var serviceFields = []string{
	".metadata.labels",
	".metadata.ownerReferences",
	".spec.type",
	".spec.selector",
	".spec.ports",
}

// An object that was there before the Devbox of its name, and is someone else's, is
// left alone altogether (package setup).
var devbox = []Claim{
	{Manager: DevboxWorkload, Kind: "Deployment.apps", Paths: []string{
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
	{Manager: DevboxPower, Kind: "Deployment.apps", Paths: []string{".spec.replicas"}},
	{Manager: DevboxNetwork, Kind: "Service", Shared: ownService, Paths: serviceFields},

	{Manager: DevboxWorkload, Kind: "Devbox.platform.coapply.dev", Fallback: true, Paths: []string{
		`.metadata.finalizers[="platform.coapply.dev/devbox-workload"]`,
		".status.observedGeneration",
		".status.phase",
		".status.lastContainerStatus",
		".status.lastContentID",
		`.status.conditions[type="WorkloadApplied"]`,
		`.status.conditions[type="Ready"]`,
	}},
	{Manager: DevboxPower, Kind: "Devbox.platform.coapply.dev", Fallback: true, Paths: []string{
		`.status.conditions[type="PowerApplied"]`,
	}},
	{Manager: DevboxNetwork, Kind: "Devbox.platform.coapply.dev", Fallback: true, Paths: []string{
		".status.network",
		`.status.conditions[type="NetworkApplied"]`,
	}},
	{Manager: DevboxContent, Kind: "Devbox.platform.coapply.dev", Fallback: true, Paths: []string{".status.contentID"}},
	// The template sets it, under the Deployment's name; it is ours to remove.
	{Manager: DevboxWorkload, Kind: "Pod", Fallback: true, Paths: []string{
		`.metadata.finalizers[="platform.coapply.dev/record-status"]`,
	}},
}
