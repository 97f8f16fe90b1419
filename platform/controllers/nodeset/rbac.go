package nodeset

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=nodesets/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
