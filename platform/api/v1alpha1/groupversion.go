// Package v1alpha1 defines the API types of coapply's example platform. cmd/manager reconciles them.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=applyconfiguration
// +groupName=platform.coapply.dev
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// SchemeGroupVersion is the API group and version of the kinds in this package.
var SchemeGroupVersion = schema.GroupVersion{Group: "platform.coapply.dev", Version: "v1alpha1"}

var builder = runtime.NewSchemeBuilder(func(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion,
		&Devbox{}, &DevboxList{},
		&User{}, &UserList{},
		&License{}, &LicenseList{},
		&NodeMaintenance{}, &NodeMaintenanceList{},
		&SlurmController{}, &SlurmControllerList{},
		&NodeSet{}, &NodeSetList{},
	)
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
})

// AddToScheme adds the kinds of this package to a scheme.
var AddToScheme = builder.AddToScheme

// Condition types that every kind may have.
const (
	// ConditionApplied is True if all objects that a custom resource needs have been
	// applied. A Devbox has the conditions WorkloadApplied, PowerApplied and NetworkApplied instead.
	ConditionApplied = "Applied"
	// ConditionReady is True if the object matches its spec. Tools that use kstatus, such as Helm,
	// Flux and kapp, wait for this condition and for status.observedGeneration.
	ConditionReady = "Ready"
)

// Resources are the requests and limits of a container.
//
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || !has(self.limits) || self.requests.all(r, !(r in self.limits) || quantity(string(self.requests[r])).compareTo(quantity(string(self.limits[r]))) <= 0)",message="a request must not be above its limit"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || self.requests.all(r, !string(self.requests[r]).startsWith('-'))",message="a request must not be negative"
// +kubebuilder:validation:XValidation:rule="!has(self.limits) || self.limits.all(r, !string(self.limits[r]).startsWith('-'))",message="a limit must not be negative"
// +kubebuilder:validation:XValidation:rule="!has(self.requests) || self.requests.all(r, !r.contains('/') || (has(self.limits) && r in self.limits && quantity(string(self.requests[r])).compareTo(quantity(string(self.limits[r]))) == 0))",message="a device cannot be overcommitted: its request must equal its limit"
type Resources struct {
	// requests maps resource names to the requested quantity, such as cpu: 500m.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(r, r in ['cpu', 'memory', 'ephemeral-storage'] || (r.matches('^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && !r.contains('kubernetes.io/')))",message="a resource is cpu, memory, ephemeral-storage, or a device with its domain, such as example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="self.all(r, quantity(string(self[r])).compareTo(quantity('1P')) <= 0)",message="a quantity is at most 1P"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !r.contains('/') || quantity(string(self[r])).isInteger())",message="the quantity of a device must be a whole number"
	Requests corev1.ResourceList `json:"requests,omitempty"`

	// limits maps resource names to the maximum quantity.
	// +kubebuilder:validation:MaxProperties=4
	// +kubebuilder:validation:XValidation:rule="self.all(r, r in ['cpu', 'memory', 'ephemeral-storage'] || (r.matches('^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$') && !r.contains('kubernetes.io/')))",message="a resource is cpu, memory, ephemeral-storage, or a device with its domain, such as example.com/gpu"
	// +kubebuilder:validation:XValidation:rule="self.all(r, quantity(string(self[r])).compareTo(quantity('1P')) <= 0)",message="a quantity is at most 1P"
	// +kubebuilder:validation:XValidation:rule="self.all(r, !r.contains('/') || quantity(string(self[r])).isInteger())",message="the quantity of a device must be a whole number"
	Limits corev1.ResourceList `json:"limits,omitempty"`
}
