package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Conditions returns the conditions for a status intent: those wanted, each with the
// lastTransitionTime that it has in current if its status is the same there, and otherwise with
// now (meta.SetStatusCondition does the same for get-modify-update). A lastTransitionTime in
// wanted is ignored, and now must not be zero: the server refuses a condition without a time. A
// condition that is left out is given up, like any field of an intent. To give up all of them,
// leave out the list: the server refuses an empty one.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// If current is older than our own last write, that write's lastTransitionTime is replaced
// once.
func Conditions(current []metav1.Condition, now metav1.Time, wanted ...metav1.Condition) []*metav1ac.ConditionApplyConfiguration {
	configs := make([]*metav1ac.ConditionApplyConfiguration, 0, len(wanted))
	for _, condition := range wanted {
		since := now
		for _, had := range current {
			if had.Type == condition.Type && had.Status == condition.Status && !had.LastTransitionTime.IsZero() {
				since = had.LastTransitionTime
			}
		}
		config := metav1ac.Condition().
			WithType(condition.Type).
			WithStatus(condition.Status).
			WithReason(condition.Reason).
			WithMessage(condition.Message).
			WithLastTransitionTime(since)
		if condition.ObservedGeneration != 0 {
			config.WithObservedGeneration(condition.ObservedGeneration)
		}
		configs = append(configs, config)
	}
	return configs
}
