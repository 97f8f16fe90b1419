package user

// What the reconciler may do, for config/rbac/role.yaml. To bind a role whose rights
// it does not have itself it needs bind on exactly that one; escalate would be more.
//
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users/status,verbs=update
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=users/finalizers,verbs=update
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=bind,resourceNames=coapply-devbox-editor
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
