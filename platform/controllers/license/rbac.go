package license

// What the reconciler may do, for config/rbac/role.yaml.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses,verbs=get;list;watch;update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=licenses/finalizers,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=resourcequotas,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
