package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeSetSpec is the desired state of a NodeSet.
type NodeSetSpec struct {
	// controllerName is the name of a SlurmController in the same namespace. The pods get the address of its
	// Service, and are not created before the Service exists. If controllerName is empty, the pods get no address.
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	ControllerName string `json:"controllerName,omitempty"`

	// replicas is the desired number of pods: NAME-0 to NAME-(replicas-1). If it is decreased, the
	// pods with the highest numbers are deleted.
	// +default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=5000
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the container image that runs slurmd.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\s')",message="an image reference must not contain white space"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[a-fA-F0-9:]+\\\\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[a-fA-F0-9]{32,128})?$')",message="an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST], its path in lower case, such as registry.example.com/team/image:1.0"
	Image string `json:"image"`

	// resources are the requests and limits of slurmd's container.
	Resources Resources `json:"resources,omitzero"`

	// maxUnavailable limits the replacement of pods after a change of the spec: at most this number
	// of pods may be missing or not ready because of the replacement.
	// +default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=5000
	MaxUnavailable int32 `json:"maxUnavailable,omitempty"`
}

// NodeSetStatus is the observed state of a NodeSet.
type NodeSetStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// replicas is the number of pods that have not finished and are not being deleted.
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of pods in status.replicas that are ready.
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of pods in status.replicas that have the current revision.
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// revision is a hash of the pod spec that the pods should have. A pod with another revision is replaced.
	Revision string `json:"revision,omitempty"`

	// controllerAddress is slurmctld's address (HOST:PORT), which the pods get in their environment. While the
	// SlurmController or its Service does not exist, controllerAddress keeps its last value.
	ControllerAddress string `json:"controllerAddress,omitempty"`

	// selector is the label selector of the pods, for the scale subresource.
	Selector string `json:"selector,omitempty"`

	// conditions of the NodeSet. Applied is True if all pods were applied. Ready is True while
	// every desired pod is ready and has the current revision.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeSet runs Slurm compute nodes (slurmd) as numbered pods.
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 58",message="a NodeSet's name has at most 58 characters, so that its pod names NAME-NUMBER have at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a NodeSet's name becomes part of its pod names: use only lower-case letters, digits and -, with a letter first and not - last"
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
