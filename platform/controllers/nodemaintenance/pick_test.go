package nodemaintenance

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestInvalidSelector: the CRD lets none in, unless it is another version of it.
func TestInvalidSelector(t *testing.T) {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "In"}}}
	_, err := (&Reconciler{}).matching(t.Context(), selector)
	if refused, ok := errors.AsType[*refusal](err); !ok || refused.reason != invalidSelector {
		t.Errorf("got %v", err)
	}
}
