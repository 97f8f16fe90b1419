package fieldmanagers

// The Namespace is the License's as well: see there.
var user = []Claim{
	{Manager: User, Kind: "Namespace", Paths: []string{
		`.metadata.labels["platform.coapply.dev/owner"]`,
		`.metadata.labels["app.kubernetes.io/managed-by"]`,
		`.metadata.labels["pod-security.kubernetes.io/enforce"]`,
		`.metadata.annotations["platform.coapply.dev/display-name"]`,
		".metadata.ownerReferences",
	}},
	{Manager: User, Kind: "ServiceAccount", Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".automountServiceAccountToken",
	}},
	{Manager: User, Kind: "RoleBinding.rbac.authorization.k8s.io", Paths: []string{
		".metadata.labels",
		".metadata.ownerReferences",
		".roleRef",
		".subjects",
	}},

	{Manager: User, Kind: "User.platform.coapply.dev", Fallback: true, Paths: []string{
		".status.observedGeneration",
		".status.namespace",
		".status.auditLog",
		`.status.conditions[type="Applied"]`,
		`.status.conditions[type="Ready"]`,
	}},
}
