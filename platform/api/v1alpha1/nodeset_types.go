package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeSetSpec is the desired state.
type NodeSetSpec struct {
	// controllerName is the SlurmController of the namespace whose Service address the pods
	// get. Pods are created once it exists. Without a name they get no address.
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ControllerName string `json:"controllerName,omitempty"`

	// replicas is how many pods there are: NAME-0 to NAME-(replicas-1). Scaling in
	// deletes the highest.
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	Replicas *int32 `json:"replicas,omitempty"`

	// image runs slurmd.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\s')",message="an image reference has no white space"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[a-fA-F0-9:]+\\\\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[a-fA-F0-9]{32,128})?$')",message="an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST], its path in lower case, such as registry.example.com/team/image:1.0"
	Image string `json:"image"`

	// resources of slurmd's container.
	Resources Resources `json:"resources,omitzero"`

	// maxUnavailable is how many of the wanted pods may be missing or not ready while a
	// change replaces them.
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
}

// NodeSetStatus is the observed state.
type NodeSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 if no
	// reconciler has written it yet.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods that have not finished and are not being deleted.
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is how many of these pods are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is how many of these pods have the present revision.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// revision identifies the pod spec that pods should have.
	Revision string `json:"revision,omitempty"`

	// controllerAddress is HOST:PORT of slurmctld as pods get it. It is kept if the
	// SlurmController, or its Service, does not exist any more.
	ControllerAddress string `json:"controllerAddress,omitempty"`

	// selector finds the pods, for the scale subresource.
	Selector string `json:"selector,omitempty"`

	// conditions: Applied, and Ready, which is True while every wanted pod is ready and has
	// the revision.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeSet is a number of Slurm compute nodes, each a pod named after its number.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:path=nodesets,categories=coapply
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Applied",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Applied")].reason`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 58",message="a NodeSet's name has at most 58 characters, so that those of its pods, NAME-NUMBER, fit"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a NodeSet's name becomes that of its pods: lower-case letters, digits and -, starting with a letter"
type NodeSet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec NodeSetSpec `json:"spec"`

	// status is the observed state.
	// +default={"observedGeneration": -1}
	Status NodeSetStatus `json:"status,omitzero"`
}

// NodeSetList is a list of NodeSets.
//
// +kubebuilder:object:root=true
type NodeSetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeSet `json:"items"`
}
