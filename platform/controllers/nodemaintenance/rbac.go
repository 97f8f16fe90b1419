package nodemaintenance

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodemaintenances/status,verbs=update
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;patch;update
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
