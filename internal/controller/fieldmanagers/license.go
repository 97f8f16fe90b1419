package fieldmanagers

// The rest of the Namespace is the User's.
var license = []Claim{
	{Manager: License, Kind: "Namespace", Paths: []string{
		`.metadata.labels["platform.coapply.dev/license"]`,
		`.metadata.annotations["platform.coapply.dev/limits"]`,
	}},
	{Manager: License, Kind: "ResourceQuota", Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.hard",
	}},

	{Manager: License, Kind: "License.platform.coapply.dev", Fallback: true, Paths: []string{
		`.metadata.finalizers[="platform.coapply.dev/license"]`,
		".status.observedGeneration",
		".status.phase",
		".status.limits",
		".status.namespace",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},
}
