// Package v1 has the API types of the test operator.
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Database has fields that a JSON round trip respells.
type Database struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DatabaseSpec   `json:"spec,omitempty"`
	Status DatabaseStatus `json:"status,omitempty"`
}

type DatabaseSpec struct {
	Image     string                      `json:"image"`
	Replicas  int32                       `json:"replicas,omitempty"`
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
	Storage   *resource.Quantity          `json:"storage,omitempty"`
	Timeout   metav1.Duration             `json:"timeout"`
}

type DatabaseStatus struct {
	Phase      string             `json:"phase,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

func (in *Database) DeepCopy() *Database {
	if in == nil {
		return nil
	}
	out := *in
	return &out
}

func (in *Database) DeepCopyObject() runtime.Object { return in.DeepCopy() }

type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Database `json:"items"`
}

func (in *DatabaseList) DeepCopyObject() runtime.Object { out := *in; return &out }

// Site has fields whose zero value is written, or dropped in favour of a default.
type Site struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec SiteSpec `json:"spec,omitzero"`
}

type SiteSpec struct {
	Host string `json:"host"` // required: always set
	// +optional
	Path string `json:"path"`
	// +kubebuilder:default=true
	TLS bool `json:"tls,omitempty"`
	// +optional
	Backup Backup `json:"backup,omitempty"`
}

type Backup struct {
	Schedule string `json:"schedule"`
}

func (in *Site) DeepCopy() *Site                { out := *in; return &out }
func (in *Site) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// Plain has a round trip that is the identity.
type Plain struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec PlainSpec `json:"spec,omitempty"`
}

type PlainSpec struct {
	Name     string               `json:"name"`
	Port     intstr.IntOrString   `json:"port,omitempty"`
	Raw      runtime.RawExtension `json:"raw,omitempty"`
	Labels   map[string]string    `json:"labels,omitempty"`
	Nested   *PlainSpec           `json:"nested,omitempty"`
	Empty    struct{}             `json:"empty,omitempty"`
	Replicas *int32               `json:"replicas,omitempty"`
	Items    []PlainSpec          `json:"items,omitempty"`
	hidden   resource.Quantity
	Skipped  resource.Quantity `json:"-"`
}

func (in *Plain) DeepCopy() *Plain               { out := *in; return &out }
func (in *Plain) DeepCopyObject() runtime.Object { return in.DeepCopy() }
