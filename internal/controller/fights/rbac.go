package fights

// What the fight detector may do, for config/rbac/role.yaml: see the metadata of every
// kind that fieldmanagers claims to apply, and mark our own.
//
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=namespaces;nodes;pods;resourcequotas;serviceaccounts;services,verbs=list;watch
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=rolebindings,verbs=list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes;licenses;nodemaintenances;nodesets;slurmcontrollers;users,verbs=get;list;watch
// +kubebuilder:rbac:groups=platform.coapply.dev,resources=devboxes/status;licenses/status;nodemaintenances/status;nodesets/status;slurmcontrollers/status;users/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
