package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaintenanceAction is what is done to each node.
//
// +kubebuilder:validation:Enum=Cordon;Uncordon
type MaintenanceAction string

const (
	// Cordon keeps new pods off a node and marks it as under maintenance.
	Cordon MaintenanceAction = "Cordon"
	// Uncordon ends that.
	Uncordon MaintenanceAction = "Uncordon"
)

// WriteStrategy is how nodes are written to.
//
// +kubebuilder:validation:Enum=Apply;Update
type WriteStrategy string

const (
	// StrategyApply writes by Server-Side Apply under our field manager. Others may
	// write to the node as often as they like.
	StrategyApply WriteStrategy = "Apply"
	// StrategyUpdate is the fallback: get-modify-update with four attempts, which fails
	// on a node that is rewritten without a pause.
	StrategyUpdate WriteStrategy = "Update"
)

// NodeMaintenanceSpec is one piece of work. It cannot be changed; make another one.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a NodeMaintenance is one piece of work and cannot be changed: make another one"
// +kubebuilder:validation:XValidation:rule="has(self.nodes) != has(self.nodeSelector)",message="name either nodes or a nodeSelector"
// +kubebuilder:validation:XValidation:rule="!(has(self.force) && self.force) || (self.action == 'Uncordon' && self.strategy == 'Apply')",message="force is for action Uncordon with strategy Apply: there it takes a foreign cordon"
type NodeMaintenanceSpec struct {
	// action is Cordon or Uncordon.
	Action MaintenanceAction `json:"action"`

	// nodes by name.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// nodeSelector picks among the nodes that exist when the work begins.
	NodeSelector *NodeSelector `json:"nodeSelector,omitempty"`

	// strategy is how nodes are written to.
	// +default="Apply"
	Strategy WriteStrategy `json:"strategy,omitempty"`

	// concurrency is how many nodes are written to at a time.
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Concurrency int32 `json:"concurrency,omitempty"`

	// nodeDeadlineSeconds is how long one node may take, from when its turn came. If the time
	// passed while the manager was down or the work paused, the node gets a few seconds more.
	// +default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	NodeDeadlineSeconds int32 `json:"nodeDeadlineSeconds,omitempty"`

	// force lets an Uncordon take spec.unschedulable from whoever else has cordoned the
	// node. Otherwise that is a conflict, and the node's error says who it is.
	Force bool `json:"force,omitempty"`

	// reason is written to the nodes, for people.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\p{Cc}\\\\x{2028}\\\\x{2029}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}]')",message="a reason has no line breaks and no control characters"
	Reason string `json:"reason,omitempty"`
}

// NodeResult is the result of one node.
type NodeResult string

const (
	// NodePending means that the node waits for its turn, or is being worked on.
	NodePending NodeResult = "Pending"
	// NodeSucceeded means that the node is as it should be.
	NodeSucceeded NodeResult = "Succeeded"
	// NodeFailed means that the node is not as it should be, and is not tried again.
	NodeFailed NodeResult = "Failed"
)

// NodeStatus is how far a node is.
type NodeStatus struct {
	// name of the node.
	Name string `json:"name"`

	// result so far.
	// +kubebuilder:validation:Enum=Pending;Succeeded;Failed
	Result NodeResult `json:"result"`

	// startTime is when the node's turn came, before anything was written to it. Its
	// deadline counts from here, however often the manager is restarted.
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// attempts that were made and recorded; 0 if the node was as it should be already.
	Attempts int32 `json:"attempts,omitempty"`

	// error of a failed node; of a pending node, the error of its last attempt.
	// +kubebuilder:validation:MaxLength=400
	Error string `json:"error,omitempty"`
}

// NodeMaintenanceStatus is how far the work is.
type NodeMaintenanceStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 if no
	// reconciler has written it yet.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nodes that are worked on, each with its result.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Nodes []NodeStatus `json:"nodes,omitempty"`

	// total number of nodes.
	Total int32 `json:"total,omitempty"`

	// succeeded is how many are done.
	Succeeded int32 `json:"succeeded,omitempty"`

	// failed is how many could not be done.
	Failed int32 `json:"failed,omitempty"`

	// startTime is when the nodes were picked.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the last node had its result.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// conditions: Complete is False with the reason InProgress as long as a node is Pending,
	// then True with the reason Succeeded, Failed (at least one node failed), NoNodes,
	// TooManyNodes or InvalidSelector; Ready is True once it is complete and no node failed;
	// Stalled is True if it is complete and not Ready.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MaxNodes of one NodeMaintenance. A selector that matches more is refused.
const MaxNodes = 1000

// ConditionComplete says whether every node of a NodeMaintenance has its result.
const ConditionComplete = "Complete"

// ConditionStalled is True on a NodeMaintenance that ended without success: kstatus, and so
// Helm, Flux and kapp, report it as failed. Absent means False.
const ConditionStalled = "Stalled"

// NodeMaintenance cordons or uncordons nodes, once, a few at a time.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=nodemaintenances,scope=Cluster,shortName=nm,categories=coapply
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="Strategy",type=string,JSONPath=`.spec.strategy`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.total`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Complete",type=string,JSONPath=`.status.conditions[?(@.type=="Complete")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type NodeMaintenance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the work.
	Spec NodeMaintenanceSpec `json:"spec"`

	// status is how far it is.
	// +default={"observedGeneration": -1}
	Status NodeMaintenanceStatus `json:"status,omitzero"`
}

// NodeMaintenanceList is a list of NodeMaintenances.
//
// +kubebuilder:object:root=true
type NodeMaintenanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeMaintenance `json:"items"`
}
