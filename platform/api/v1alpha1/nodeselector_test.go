package v1alpha1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestLabelSelector(t *testing.T) {
	selector := NodeSelector{
		MatchLabels: map[string]LabelValue{"zone": "a"},
		MatchExpressions: []NodeSelectorRequirement{
			{Key: "rack", Operator: metav1.LabelSelectorOpNotIn, Values: []LabelValue{"2", "1"}},
			{Key: "gpu", Operator: metav1.LabelSelectorOpExists},
		},
	}
	const want = "gpu,rack notin (1,2),zone=a"
	if got := metav1.FormatLabelSelector(selector.LabelSelector()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := metav1.FormatLabelSelector(NodeSelector{}.LabelSelector()); got != "<none>" {
		t.Errorf("got %s of an empty one", got)
	}
}
