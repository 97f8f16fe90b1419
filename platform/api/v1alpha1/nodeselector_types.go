package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeSelector selects nodes by their labels, as a LabelSelector does. Its labels and values are limited in number and length, so that
// the API server can validate them by CEL rules. A metav1.LabelSelector has no limits, so only the reconciler could detect a mistake.
//
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && self.matchLabels.size() > 0) || (has(self.matchExpressions) && self.matchExpressions.size() > 0)",message="an empty selector would select every node: to select every node, name a label that all nodes have"
type NodeSelector struct {
	// matchLabels maps label keys to values. A node must have every one of these labels.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && k.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="a label key is [PREFIX/]NAME: PREFIX is a DNS name, NAME is at most 63 letters, digits, -, _ and ."
	MatchLabels map[string]LabelValue `json:"matchLabels,omitempty"`

	// matchExpressions are further requirements on a node's labels.
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []NodeSelectorRequirement `json:"matchExpressions,omitempty"`
}

// LabelValue is the value of a label.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="a label value is empty, or at most 63 letters, digits, -, _ and ."
type LabelValue string

// NodeSelectorRequirement is a requirement on one label.
//
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",message="In and NotIn need values; Exists and DoesNotExist have none"
type NodeSelectorRequirement struct {
	// key is the label's key.
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="a label key is [PREFIX/]NAME: PREFIX is a DNS name, NAME is at most 63 letters, digits, -, _ and ."
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are the values that the label must have (In) or must not have (NotIn).
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Values []LabelValue `json:"values,omitempty"`
}

// LabelSelector converts the selector to a metav1.LabelSelector.
func (s NodeSelector) LabelSelector() *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if len(s.MatchLabels) > 0 {
		selector.MatchLabels = make(map[string]string, len(s.MatchLabels))
	}
	for key, value := range s.MatchLabels {
		selector.MatchLabels[key] = string(value)
	}
	for _, requirement := range s.MatchExpressions {
		same := metav1.LabelSelectorRequirement{Key: requirement.Key, Operator: requirement.Operator}
		for _, value := range requirement.Values {
			same.Values = append(same.Values, string(value))
		}
		selector.MatchExpressions = append(selector.MatchExpressions, same)
	}
	return selector
}
