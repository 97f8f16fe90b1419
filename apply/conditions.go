package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

// Conditions returns the wanted conditions as apply configurations, for an intent that applies a status. It sets the
// lastTransitionTime of each condition, and ignores the lastTransitionTime in wanted. If current contains the condition
// with the same status, Conditions keeps the time of that condition. Otherwise it sets the argument now, which must not be
// zero: the API server rejects a condition without a time. (For a get-modify-update, use meta.SetStatusCondition.)
//
// A condition that is not in wanted is given up, like any field that an intent omits. To give up all conditions, leave
// out the list: the API server rejects an empty list.
//
//	status := v1alpha1ac.DevboxStatus().
//		WithConditions(apply.Conditions(box.Status.Conditions, metav1.Now(), ready)...)
//
// If current comes from a cache, it may lack this writer's last write. If that write added a condition or changed its
// status, Conditions does not see the time of the write, and sets the time now instead.
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
