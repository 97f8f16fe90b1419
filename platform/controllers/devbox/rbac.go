package devbox

// What the reconcilers may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list;delete
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;update;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
