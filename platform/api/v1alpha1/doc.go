// Package v1alpha1 holds the kinds of the example platform that cmd/manager runs.
//
// +kubebuilder:object:generate=true
// +kubebuilder:ac:generate=true
// +kubebuilder:ac:output:package=applyconfiguration
// +groupName=platform.coapply.dev
package v1alpha1
