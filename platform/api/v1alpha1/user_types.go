package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UserSpec is the desired state of a User.
type UserSpec struct {
	// displayName is the name of the person.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\\\p{Cc}\\\\x{2028}\\\\x{2029}\\\\x{202a}-\\\\x{202e}\\\\x{2066}-\\\\x{2069}]')",message="a display name must not contain line breaks or control characters"
	DisplayName string `json:"displayName,omitempty"`
}

// AuditLog is the part of a User's status that is kept for audits. Each field is set once and never changed.
type AuditLog struct {
	// createTime is the creation time of the first Namespace of the user.
	CreateTime *metav1.Time `json:"createTime,omitempty"`
}

// UserStatus is the observed state of a User.
type UserStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// namespace is the name of the User's Namespace. It is empty while that Namespace does not
	// exist, is being deleted, or does not belong to the User.
	Namespace string `json:"namespace,omitempty"`

	// auditLog has facts about the User. Each field is set once and never changed.
	AuditLog AuditLog `json:"auditLog,omitzero"`

	// conditions of the User. Applied is True if the Namespace, the ServiceAccount and the
	// RoleBinding match the desired state. Ready has the same status, for tools that use kstatus.
	// Contended is True if another field manager changes a field back again and again.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// User gives a person the Namespace user-NAME, and in it a ServiceAccount that may create
// Devboxes there. Deleting the User deletes the Namespace.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=users,scope=Cluster,categories=coapply
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.namespace`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="Name",type=string,priority=1,JSONPath=`.spec.displayName`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 58",message="a User's name has at most 58 characters, so that the Namespace name user-NAME has at most 63"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a User's name becomes part of a Namespace name: use only lower-case letters, digits and -, with a letter or digit at each end"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || !has(oldSelf.status.auditLog) || !has(oldSelf.status.auditLog.createTime) || (has(self.status) && has(self.status.auditLog) && has(self.status.auditLog.createTime) && self.status.auditLog.createTime == oldSelf.status.auditLog.createTime)",message="status.auditLog.createTime is set once and never changed"
type User struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec UserSpec `json:"spec,omitzero"`

	// status is the observed state.
	// +default={"observedGeneration": -1}
	Status UserStatus `json:"status,omitzero"`
}

// UserList is a list of Users.
//
// +kubebuilder:object:root=true
type UserList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []User `json:"items"`
}
