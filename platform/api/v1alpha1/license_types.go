package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LicenseSpec is the desired state of a License.
//
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.notAfter) || self.notBefore < self.notAfter",message="notBefore must be before notAfter"
type LicenseSpec struct {
	// notBefore is when the license becomes valid. Without notBefore it is valid at once.
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// notAfter is when the license expires. Without notAfter it never expires.
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// limits are the user's limits while the license is valid, in the form of the hard limits
	// of a ResourceQuota: cpu, memory, pods, requests.cpu and so on. A resource that is not
	// listed here is not limited.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=12
	// +kubebuilder:validation:XValidation:rule="self.all(r, r in ['cpu', 'memory', 'pods', 'services', 'services.nodeports', 'persistentvolumeclaims', 'requests.cpu', 'requests.memory', 'requests.storage', 'limits.cpu', 'limits.memory', 'count/devboxes.platform.coapply.dev'])",message="a limit is one of cpu, memory, pods, services, services.nodeports, persistentvolumeclaims, requests.cpu, requests.memory, requests.storage, limits.cpu, limits.memory, count/devboxes.platform.coapply.dev"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !string(self[r]).startsWith('-'))",message="a limit must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.all(r, quantity(string(self[r])).compareTo(quantity('1P')) <= 0)",message="a limit is at most 1P"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r in ['pods', 'services', 'services.nodeports', 'persistentvolumeclaims', 'count/devboxes.platform.coapply.dev']) || quantity(string(self[r])).isInteger())",message="a limit on a number of objects must be a whole number"
	Limits corev1.ResourceList `json:"limits"`
}

// LicensePhase is the phase of a License: not valid yet, valid, or expired.
type LicensePhase string

const (
	// LicensePending means that the license is not valid yet.
	LicensePending LicensePhase = "Pending"
	// LicenseActive means that the license is valid now.
	LicenseActive LicensePhase = "Active"
	// LicenseExpired means that the license is no longer valid.
	LicenseExpired LicensePhase = "Expired"
)

// LicenseStatus is the observed state of a License.
type LicenseStatus struct {
	// observedGeneration is the generation of the spec that this status describes. It is -1
	// until a reconciler writes the status for the first time.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase is Pending before notBefore, Active while the license is valid, and Expired from notAfter on. It decides which limits apply.
	Phase LicensePhase `json:"phase,omitempty"`

	// limits are the limits that apply now: spec.limits, with pods set to 0 while the phase is not Active.
	Limits corev1.ResourceList `json:"limits,omitempty"`

	// namespace names the Namespace of the License's User, which has the License's name. It is empty while there is no such Namespace.
	Namespace string `json:"namespace,omitempty"`

	// conditions of the License. Applied is True if the ResourceQuota and the Namespace's fields
	// have the values of the current limits and phase. Ready has the same status, for tools that
	// use kstatus, with the phase as its reason.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// License limits the resources that the User of the same name may use, and for how long. The limits are set as a
// ResourceQuota in the user's Namespace. A label and an annotation of this Namespace show the phase and the limits.
//
// +genclient
// +genclient:nonNamespaced
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=licenses,scope=Cluster,categories=coapply
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.namespace`
// +kubebuilder:printcolumn:name="Ends",type=string,JSONPath=`.spec.notAfter`
// +kubebuilder:printcolumn:name="Applied",type=string,JSONPath=`.status.conditions[?(@.type=="Applied")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 58",message="a License has the name of its User, which has at most 58 characters"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a License has the name of its User: use only lower-case letters, digits and -, with a letter or digit at each end"
type License struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state.
	Spec LicenseSpec `json:"spec"`

	// status is the observed state.
	// +default={"observedGeneration": -1}
	Status LicenseStatus `json:"status,omitzero"`
}

// LicenseList is a list of Licenses.
//
// +kubebuilder:object:root=true
type LicenseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []License `json:"items"`
}
