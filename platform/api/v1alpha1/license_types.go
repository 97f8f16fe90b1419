package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LicenseSpec is the desired state.
//
// +kubebuilder:validation:XValidation:rule="!has(self.notBefore) || !has(self.notAfter) || self.notBefore < self.notAfter",message="notBefore must be before notAfter"
type LicenseSpec struct {
	// notBefore is the time from which the license is valid; without it, it is valid at once.
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// notAfter is the time from which it is no longer valid; without it, it never ends.
	NotAfter *metav1.Time `json:"notAfter,omitempty"`

	// limits is what the user may use while the license is valid, as a ResourceQuota's hard
	// limits: cpu, memory, pods, requests.cpu and the like. Resources that it does not name
	// are not limited.
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=12
	// +kubebuilder:validation:XValidation:rule="self.all(r, r in ['cpu', 'memory', 'pods', 'services', 'services.nodeports', 'persistentvolumeclaims', 'requests.cpu', 'requests.memory', 'requests.storage', 'limits.cpu', 'limits.memory', 'count/devboxes.platform.coapply.dev'])",message="a limit is one of cpu, memory, pods, services, services.nodeports, persistentvolumeclaims, requests.cpu, requests.memory, requests.storage, limits.cpu, limits.memory, count/devboxes.platform.coapply.dev"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !string(self[r]).startsWith('-'))",message="a limit must not be negative"
	// +kubebuilder:validation:XValidation:rule="self.all(r, quantity(string(self[r])).compareTo(quantity('1P')) <= 0)",message="a limit is at most 1P"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !(r in ['pods', 'services', 'services.nodeports', 'persistentvolumeclaims', 'count/devboxes.platform.coapply.dev']) || quantity(string(self[r])).isInteger())",message="objects are counted in whole numbers"
	Limits corev1.ResourceList `json:"limits"`
}

// LicensePhase says which limits of a License apply now.
type LicensePhase string

const (
	// LicensePending means that the license is not valid yet.
	LicensePending LicensePhase = "Pending"
	// LicenseActive means that it is valid.
	LicenseActive LicensePhase = "Active"
	// LicenseExpired means that it is no longer valid.
	LicenseExpired LicensePhase = "Expired"
)

// LicenseStatus is the observed state.
type LicenseStatus struct {
	// observedGeneration is the generation of the spec that this status describes; -1 if no
	// reconciler has written it yet.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// phase says which limits apply now.
	Phase LicensePhase `json:"phase,omitempty"`

	// limits are those that apply now: the spec's, with pods set to 0 while the license is not
	// Active.
	Limits corev1.ResourceList `json:"limits,omitempty"`

	// namespace is that of the User of the same name, while it exists.
	Namespace string `json:"namespace,omitempty"`

	// conditions: Applied says whether the quota is as the limits want it; Ready says the
	// same for kstatus, with the phase as its reason.
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// License says what the User of the same name may use, and how long. It owns the
// quota fields of the user's Namespace, and a ResourceQuota in it.
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
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 58",message="a License has its User's name, which has at most 58 characters"
// +kubebuilder:validation:XValidation:rule="self.metadata.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="a License has its User's name: lower-case letters, digits and -"
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
