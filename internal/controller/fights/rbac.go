package fights

// What the fight detector may do, for config/rbac/role.yaml, beside what the contract asks
// for: zz_generated.rbac.go has it see the metadata of every kind that is applied to, and
// mark our own.
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
