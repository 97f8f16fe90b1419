package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Conditions gives the conditions for a status intent: those wanted, each with the
// lastTransitionTime that it has in current if its status is the same there, and
// else with now (API conventions, "Typical status properties"; meta.SetStatusCondition
// does it for get-modify-update). A lastTransitionTime in wanted decides nothing, and
// now must not be zero: the server refuses a condition without a time. A condition
// that is left out is given up, as is any field of an intent; to give all of them up,
// leave out the list, or the server refuses what is left of it.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// Current is what was read last: where it is older than our own last write, that
// write's time is replaced once.
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
