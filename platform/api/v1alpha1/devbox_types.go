package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DevboxState is what a Devbox should be doing.
//
// +kubebuilder:validation:Enum=Running;Stopped;Shutdown
type DevboxState string

const (
	// DevboxRunning wants one pod.
	DevboxRunning DevboxState = "Running"
	// DevboxStopped wants no pod; the running one ends gracefully.
	DevboxStopped DevboxState = "Stopped"
	// DevboxShutdown wants no pod; the running one is deleted at once.
	DevboxShutdown DevboxState = "Shutdown"
)

// NetworkType is how a Devbox is reached. The status may have another type, which someone
// else has set on the Service.
type NetworkType string

const (
	// NetworkClusterIP is reached from inside the cluster.
	NetworkClusterIP NetworkType = "ClusterIP"
	// NetworkNodePort is reached through a port of every node.
	NetworkNodePort NetworkType = "NodePort"
	// NetworkNone is not reached: there is no Service.
	NetworkNone NetworkType = "None"
)

// DevboxSpec is the desired state.
type DevboxSpec struct {
	// image is what the devbox runs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\s')",message="an image reference has no white space"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[a-fA-F0-9:]+\\\\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[a-fA-F0-9]{32,128})?$')",message="an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST], its path in lower case, such as registry.example.com/team/image:1.0"
	Image string `json:"image"`

	// state is Running (one pod), Stopped (no pod; it is ended gracefully) or Shutdown (no
	// pod; it is deleted at once).
	// +default="Running"
	State DevboxState `json:"state,omitempty"`

	// resources of the devbox's container.
	Resources Resources `json:"resources,omitzero"`

	// network is how the devbox is reached.
	// +default={}
	Network DevboxNetwork `json:"network,omitzero"`
}

// DevboxNetwork is how a devbox is reached.
type DevboxNetwork struct {
	// type of the devbox's Service; None means that there is no Service.
	// +default="ClusterIP"
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;None
	Type NetworkType `json:"type,omitempty"`

	// port that the devbox listens on.
	// +default=22
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// DevboxPhase is what a Devbox is doing.
type DevboxPhase string

const (
	// PhasePending means that the pod does not run yet.
	PhasePending DevboxPhase = "Pending"
	// PhaseRunning means that the pod is ready.
	PhaseRunning DevboxPhase = "Running"
	// PhaseStopping means that there is a pod that should end.
	PhaseStopping DevboxPhase = "Stopping"
	// PhaseStopped means that there is no pod, and no pod is wanted.
	PhaseStopped DevboxPhase = "Stopped"
	// PhaseShutdown means the same, and that the pod was deleted at once.
	PhaseShutdown DevboxPhase = "Shutdown"
)

// Condition types of a Devbox, each written by one reconciler.
const (
	// ConditionWorkloadApplied says whether the Deployment is as the workload
	// reconciler wants it.
	ConditionWorkloadApplied = "WorkloadApplied"
	// ConditionPowerApplied says whether the replicas are as spec.state wants them.
	ConditionPowerApplied = "PowerApplied"
	// ConditionNetworkApplied says whether the Service is as spec.network wants it.
	ConditionNetworkApplied = "NetworkApplied"
)

// DevboxStatus is written in parts: observedGeneration, phase, lastContainerStatus,
// lastContentID and the condition Ready by the workload reconciler, network by the network
// reconciler, contentID by the content reconciler, one condition by each of them that
// applies something.
type DevboxStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 if no
	// reconciler has written it yet.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is what the devbox is doing.
	Phase DevboxPhase `json:"phase,omitempty"`

	// lastContainerStatus is the container's status in the last pod that ended.
	LastContainerStatus *corev1.ContainerStatus `json:"lastContainerStatus,omitempty"`

	// contentID names the content that the devbox starts from: that of its image, and what was
	// committed on top of it when it was Stopped. A new contentID replaces the pod.
	// +kubebuilder:validation:MaxLength=128
	ContentID string `json:"contentID,omitempty"`

	// lastContentID is the content that the container of lastContainerStatus ran on; empty
	// after a Shutdown, which drops what the container left behind.
	// +kubebuilder:validation:MaxLength=128
	LastContentID string `json:"lastContentID,omitempty"`

	// network is where the devbox is reached.
	Network *DevboxNetworkStatus `json:"network,omitempty"`

	// conditions: one for each reconciler, and Ready, which is True while the devbox is as the
	// spec wants it: running with a ready pod of its present spec, or without a pod.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DevboxNetworkStatus is where a devbox is reached.
type DevboxNetworkStatus struct {
	// type of the Service.
	Type NetworkType `json:"type,omitempty"`

	// nodePort that the server chose; 0 unless the type is NodePort.
	NodePort int32 `json:"nodePort,omitempty"`
}

// Devbox is a development machine in the cluster: one pod that can be stopped, shut down
// and reached through a Service.
//
// +genclient
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=devboxes,shortName=dbx,categories=coapply
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.spec.state`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Network",type=string,JSONPath=`.status.network.type`
// +kubebuilder:printcolumn:name="NodePort",type=integer,JSONPath=`.status.network.nodePort`
// +kubebuilder:printcolumn:name="WorkloadApplied",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="WorkloadApplied")].reason`
// +kubebuilder:printcolumn:name="PowerApplied",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="PowerApplied")].reason`
// +kubebuilder:printcolumn:name="NetworkApplied",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="NetworkApplied")].reason`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.image`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a Devbox's name has at most 52 characters, so that the names and labels made from it fit"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a Devbox's name is also its Service's: lower-case letters, digits and -, starting with a letter"
type Devbox struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec DevboxSpec `json:"spec"`

	// status is the observed state.
	// +default={"observedGeneration": -1}
	Status DevboxStatus `json:"status,omitzero"`
}

// DevboxList is a list of Devboxes.
//
// +kubebuilder:object:root=true
type DevboxList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Devbox `json:"items"`
}
