package fieldmanagers

import "coapply.dev/fieldowners/contract"

// License owns fields of the Namespace as well: see license.go.
var user = contract.Contract{
	{Manager: User, Kind: namespace, Applies: []string{
		`.metadata.labels["platform.coapply.dev/owner"]`,
		`.metadata.labels["app.kubernetes.io/managed-by"]`,
		`.metadata.labels["pod-security.kubernetes.io/enforce"]`,
		`.metadata.annotations["platform.coapply.dev/display-name"]`,
		".metadata.ownerReferences",
	}},
	{Manager: User, Kind: serviceAccount, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".automountServiceAccountToken",
	}},
	{Manager: User, Kind: roleBinding, Applies: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".roleRef",
		".subjects",
	}},

	{Manager: User, Kind: ours("User"), Updates: []string{
		".status.observedGeneration",
		".status.namespace",
		".status.auditLog",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
		`.status.conditions[type="Contended"]`,
	}},
}
