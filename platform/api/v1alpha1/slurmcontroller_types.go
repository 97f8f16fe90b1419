package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlurmControllerSpec is the desired state of a SlurmController.
type SlurmControllerSpec struct {
	// image is the container image that runs slurmctld.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\s')",message="an image reference must not contain white space"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[a-fA-F0-9:]+\\\\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[a-fA-F0-9]{32,128})?$')",message="an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST], its path in lower case, such as registry.example.com/team/image:1.0"
	Image string `json:"image"`

	// port is the TCP port on which slurmctld listens.
	// +default=6817
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`

	// resources are the requests and limits of slurmctld's container.
	Resources Resources `json:"resources,omitzero"`
}

// SlurmControllerStatus is the observed state of a SlurmController.
type SlurmControllerStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// serviceName is the name of the Service by which clients reach slurmctld. It is empty while the Service does not exist.
	ServiceName string `json:"serviceName,omitempty"`

	// conditions of the SlurmController. Applied is True if the StatefulSet and the Service match
	// the spec. Ready is True while Applied is True and slurmctld's pod is ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// SlurmController runs slurmctld, the Slurm controller daemon, in a StatefulSet behind the Service NAME-controller.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=slurmcontrollers,categories=coapply
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.status.serviceName`
// +kubebuilder:printcolumn:name="Applied",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Applied")].reason`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a SlurmController's name has at most 52 characters, so that the Service name NAME-controller has at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a SlurmController's name becomes part of a Service name: use only lower-case letters, digits and -, with a letter first and not - last"
type SlurmController struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec SlurmControllerSpec `json:"spec"`

	// status is the observed state.
	// +default={"observedGeneration": -1}
	Status SlurmControllerStatus `json:"status,omitzero"`
}

// SlurmControllerList is a list of SlurmControllers.
//
// +kubebuilder:object:root=true
type SlurmControllerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []SlurmController `json:"items"`
}
