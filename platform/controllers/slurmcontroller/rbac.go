package slurmcontroller

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=slurmcontrollers/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
