package apply_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"

	"coapply.dev/apply"
)

func TestConditions(t *testing.T) {
	then, now := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(2000, 0))
	ready := func(status metav1.ConditionStatus, since metav1.Time) metav1.Condition {
		return metav1.Condition{Type: "Ready", Status: status, Reason: "R", Message: "m", LastTransitionTime: since, ObservedGeneration: 3}
	}
	other := metav1.Condition{Type: "Other", Status: "True", LastTransitionTime: then}
	for _, c := range []struct {
		reason  string
		current []metav1.Condition
		since   metav1.Time
	}{
		{"a new condition", nil, now},
		{"another condition says nothing about it", []metav1.Condition{other}, now},
		{"the status stays", []metav1.Condition{other, ready("True", then)}, then},
		{"the status changes", []metav1.Condition{ready("False", then)}, now},
		{"the time is missing, which the server would refuse", []metav1.Condition{ready("True", metav1.Time{})}, now},
	} {
		want := []*metav1ac.ConditionApplyConfiguration{metav1ac.Condition().WithType("Ready").WithStatus("True").
			WithReason("R").WithMessage("m").WithObservedGeneration(3).WithLastTransitionTime(c.since)}
		wanted := ready("True", metav1.Time{})
		wanted.LastTransitionTime = metav1.NewTime(time.Unix(1, 0)) // the caller's time decides nothing
		if diff := cmp.Diff(want, apply.Conditions(c.current, now, wanted)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.reason, diff)
		}
	}
	if got := apply.Conditions(nil, now, other); got[0].ObservedGeneration != nil {
		t.Error("it observed no generation")
	}
	if got := apply.Conditions([]metav1.Condition{other}, now); len(got) != 0 {
		t.Errorf("what is not wanted is given up: %v", got)
	}
}
