package fieldmanagers

import "coapply.dev/fieldowners/contract"

// The other fields of the Namespace are the User's.
var license = contract.Contract{
	{Manager: License, Kind: namespace, Applies: []string{
		`.metadata.labels["platform.coapply.dev/license"]`,
		`.metadata.annotations["platform.coapply.dev/limits"]`,
	}},
	{Manager: License, Kind: resourceQuota, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".spec.hard",
		".spec.scopeSelector",
	}},

	{Manager: License, Kind: ours("License"), Updates: []string{
		`.metadata.finalizers[="platform.coapply.dev/license"]`,
		".status.observedGeneration",
		".status.phase",
		".status.limits",
		".status.namespace",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Contended"]`,
	}},
}
