package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DevboxState is the desired power state of a Devbox.
//
// +kubebuilder:validation:Enum=Running;Stopped;Shutdown
type DevboxState string

const (
	// DevboxRunning means that one pod should run.
	DevboxRunning DevboxState = "Running"
	// DevboxStopped means that no pod should run. A running pod is terminated gracefully.
	DevboxStopped DevboxState = "Stopped"
	// DevboxShutdown means that no pod should run. A running pod is deleted at once.
	DevboxShutdown DevboxState = "Shutdown"
)

// NetworkType is the type of a Devbox's Service. In the status it may be any type of Service, because another client may have changed it.
type NetworkType string

const (
	// NetworkClusterIP is for a Service that is reachable only from inside the cluster.
	NetworkClusterIP NetworkType = "ClusterIP"
	// NetworkNodePort is for a Service that is also reachable through a port of every node.
	NetworkNodePort NetworkType = "NodePort"
	// NetworkNone means that the Devbox has no Service.
	NetworkNone NetworkType = "None"
)

// DevboxSpec is the desired state of a Devbox.
type DevboxSpec struct {
	// image is the container image that the devbox runs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="!self.matches('\\\\s')",message="an image reference must not contain white space"
	// +kubebuilder:validation:XValidation:rule="self.matches('^((\\\\[[a-fA-F0-9:]+\\\\]|[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?)(:[0-9]{1,5})?/)?[a-z0-9]+([._-]+[a-z0-9]+)*(/[a-z0-9]+([._-]+[a-z0-9]+)*)*(:[a-zA-Z0-9_][-a-zA-Z0-9_.]{0,127})?(@[a-z0-9]+([+._-][a-z0-9]+)*:[a-fA-F0-9]{32,128})?$')",message="an image reference is [HOST[:PORT]/]PATH[:TAG][@DIGEST], its path in lower case, such as registry.example.com/team/image:1.0"
	Image string `json:"image"`

	// state is Running (one pod), Stopped (no pod; a running pod is terminated gracefully) or
	// Shutdown (no pod; a running pod is deleted at once).
	// +default="Running"
	State DevboxState `json:"state,omitempty"`

	// resources are the requests and limits of the devbox's container.
	Resources Resources `json:"resources,omitzero"`

	// network configures the devbox's Service.
	// +default={}
	Network DevboxNetwork `json:"network,omitzero"`
}

// DevboxNetwork is the desired Service of a Devbox.
type DevboxNetwork struct {
	// type is the type of the devbox's Service; None means that there is no Service.
	// +default="ClusterIP"
	// +kubebuilder:validation:Enum=ClusterIP;NodePort;None
	Type NetworkType `json:"type,omitempty"`

	// port is the TCP port on which the devbox listens.
	// +default=22
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// DevboxPhase is the observed power state of a Devbox.
type DevboxPhase string

const (
	// PhasePending means that a pod should run, but is missing or not ready yet.
	PhasePending DevboxPhase = "Pending"
	// PhaseRunning means that a pod should run and is ready.
	PhaseRunning DevboxPhase = "Running"
	// PhaseStopping means that no pod should run, but at least one pod has not ended yet.
	PhaseStopping DevboxPhase = "Stopping"
	// PhaseStopped means that the desired state is Stopped and that there is no pod.
	PhaseStopped DevboxPhase = "Stopped"
	// PhaseShutdown means that the desired state is Shutdown and that there is no pod.
	PhaseShutdown DevboxPhase = "Shutdown"
)

// Condition types of a Devbox, each written by one reconciler.
const (
	// ConditionWorkloadApplied is the condition type of the workload reconciler: True if the Deployment was applied.
	ConditionWorkloadApplied = "WorkloadApplied"
	// ConditionPowerApplied is the condition type of the power reconciler: True if the Deployment's replicas match spec.state.
	ConditionPowerApplied = "PowerApplied"
	// ConditionNetworkApplied is the condition type of the network reconciler: True if the Service matches spec.network.
	ConditionNetworkApplied = "NetworkApplied"
)

// DevboxStatus is the observed state of a Devbox. The content reconciler writes contentID. The network reconciler writes network and
// the condition NetworkApplied. The power reconciler writes the conditions PowerApplied and Contended. The workload reconciler writes
// all other fields and conditions.
type DevboxStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is the observed power state of the devbox.
	Phase DevboxPhase `json:"phase,omitempty"`

	// lastContainerStatus is containerStatuses[0] of the most recent pod that has one, while the pod runs and after its end.
	LastContainerStatus *corev1.ContainerStatus `json:"lastContainerStatus,omitempty"`

	// contentID identifies the file system content that the devbox starts from: the image, with the changes that were
	// committed when the devbox was Stopped. If contentID changes, a new pod with the new content replaces the pod.
	// +kubebuilder:validation:MaxLength=128
	ContentID string `json:"contentID,omitempty"`

	// lastContentID is the contentID from which the container of lastContainerStatus started. It is
	// empty after a Shutdown, which discards the container's changes.
	// +kubebuilder:validation:MaxLength=128
	LastContentID string `json:"lastContentID,omitempty"`

	// network is the observed state of the devbox's Service.
	Network *DevboxNetworkStatus `json:"network,omitempty"`

	// conditions of the Devbox: WorkloadApplied, PowerApplied, NetworkApplied and Ready. Ready is True while
	// the devbox matches its spec: it has a ready pod of the current spec, or no pod if none should run.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DevboxNetworkStatus is the observed Service of a Devbox.
type DevboxNetworkStatus struct {
	// type is the type of the Service.
	Type NetworkType `json:"type,omitempty"`

	// nodePort is the port that the API server chose; 0 if the Service has no node port.
	NodePort int32 `json:"nodePort,omitempty"`
}

// Devbox is a development machine in the cluster: one pod that can be stopped and shut down, with a Service.
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="a Devbox's name has at most 52 characters, so that names and labels made from it have at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="a Devbox's name is also the name of its Service: use only lower-case letters, digits and -, with a letter first and not - last"
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
