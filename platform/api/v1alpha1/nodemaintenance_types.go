package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaintenanceAction is the action that a NodeMaintenance performs on each of its nodes.
//
// +kubebuilder:validation:Enum=Cordon;Uncordon
type MaintenanceAction string

const (
	// Cordon makes a node unschedulable and marks it with the annotation platform.coapply.dev/maintenance.
	Cordon MaintenanceAction = "Cordon"
	// Uncordon makes a node schedulable again and removes the annotation.
	Uncordon MaintenanceAction = "Uncordon"
)

// WriteStrategy is how a NodeMaintenance writes to nodes: by Server-Side Apply or by update.
//
// +kubebuilder:validation:Enum=Apply;Update
type WriteStrategy string

const (
	// StrategyApply writes by Server-Side Apply, under the field manager of the platform.
	// The node does not fail because other clients write to other fields of the node at the same time.
	StrategyApply WriteStrategy = "Apply"
	// StrategyUpdate is the fallback: get-modify-update, in at most four attempts. The node fails if every attempt
	// gets a conflict, because another client changed the node between the read and the write.
	StrategyUpdate WriteStrategy = "Update"
)

// NodeMaintenanceSpec is an action and the target nodes. It is immutable: for other work, create another NodeMaintenance.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a NodeMaintenance is immutable: create another NodeMaintenance"
// +kubebuilder:validation:XValidation:rule="has(self.nodes) != has(self.nodeSelector)",message="set either nodes or nodeSelector, not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.force) && self.force) || (self.action == 'Uncordon' && self.strategy == 'Apply')",message="force is allowed only with action Uncordon and strategy Apply, where it removes a cordon that another field manager owns"
type NodeMaintenanceSpec struct {
	// action is Cordon or Uncordon.
	Action MaintenanceAction `json:"action"`

	// nodes are the names of the nodes.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Nodes []string `json:"nodes,omitempty"`

	// nodeSelector selects nodes by their labels. The nodes are selected only once, at the start.
	NodeSelector *NodeSelector `json:"nodeSelector,omitempty"`

	// strategy is how nodes are written to: by Apply (Server-Side Apply) or by Update
	// (get-modify-update, the fallback).
	// +default="Apply"
	Strategy WriteStrategy `json:"strategy,omitempty"`

	// concurrency is the number of nodes that are written to at the same time.
	// +default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	Concurrency int32 `json:"concurrency,omitempty"`

	// nodeDeadlineSeconds is the time limit for one node, counted from its startTime. If this time passes while no manager
	// runs or the NodeMaintenance is paused (annotation coapply.dev/paused), the node afterwards gets a few more seconds.
	// +default=30
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=300
	NodeDeadlineSeconds int32 `json:"nodeDeadlineSeconds,omitempty"`

	// force lets an Uncordon take spec.unschedulable from another field manager that has cordoned the
	// node. Without force this is a conflict: the node fails, and its error names the other field manager.
	Force bool `json:"force,omitempty"`

	// reason is a human-readable text that is written to an annotation of each node.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\p{Cc}\\\\x{2028}\\\\x{2029}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}]')",message="a reason must not contain line breaks or control characters"
	Reason string `json:"reason,omitempty"`
}

// NodeResult is the result of the action on one node.
type NodeResult string

const (
	// NodePending means that work on the node has not begun or is in progress.
	NodePending NodeResult = "Pending"
	// NodeSucceeded means that the node is in the desired state.
	NodeSucceeded NodeResult = "Succeeded"
	// NodeFailed means that the node did not reach the desired state. It is not tried again.
	NodeFailed NodeResult = "Failed"
)

// NodeStatus is the progress of the action on one node.
type NodeStatus struct {
	// name is the name of the node.
	Name string `json:"name"`

	// result is Pending, Succeeded or Failed.
	// +kubebuilder:validation:Enum=Pending;Succeeded;Failed
	Result NodeResult `json:"result"`

	// startTime is the time at which work on the node began, before the first write to it. The
	// node's deadline counts from here, even if the manager is restarted.
	StartTime *metav1.MicroTime `json:"startTime,omitempty"`

	// attempts is the number of recorded attempts on this node. The last attempts before a restart of the manager may
	// be missing. The number is 0 if the node was already in the desired state.
	Attempts int32 `json:"attempts,omitempty"`

	// error says why the node failed; for a pending node, why its last attempt failed.
	// +kubebuilder:validation:MaxLength=400
	Error string `json:"error,omitempty"`
}

// NodeMaintenanceStatus is the progress of a NodeMaintenance.
type NodeMaintenanceStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// nodes are the nodes of this NodeMaintenance, each with its result.
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1000
	Nodes []NodeStatus `json:"nodes,omitempty"`

	// total is the number of nodes.
	Total int32 `json:"total,omitempty"`

	// succeeded is the number of nodes with the result Succeeded.
	Succeeded int32 `json:"succeeded,omitempty"`

	// failed is the number of nodes with the result Failed.
	Failed int32 `json:"failed,omitempty"`

	// startTime is the time at which the nodes were selected.
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is the time at which the last node succeeded or failed.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// conditions of the NodeMaintenance. Complete is False with the reason InProgress while any
	// node is Pending. Then it is True with the reason Succeeded, Failed (at least one node
	// failed), NoNodes, TooManyNodes or InvalidSelector. Ready is True once Complete has the reason
	// Succeeded or NoNodes. Stalled is True once Complete is True for any other reason.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// MaxNodes is the largest number of nodes of one NodeMaintenance. If nodeSelector matches more, no node is written to (TooManyNodes).
const MaxNodes = 1000

// ConditionComplete is True once every node of a NodeMaintenance has succeeded or failed, or none was selected.
const ConditionComplete = "Complete"

// ConditionStalled is True if a NodeMaintenance ended without success, and absent otherwise. If it
// is True, tools that use kstatus, such as Helm, Flux and kapp, report the object as failed.
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

	// spec is the action and the nodes. It is immutable.
	Spec NodeMaintenanceSpec `json:"spec"`

	// status is the progress of the action on the nodes.
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
