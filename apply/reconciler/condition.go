package reconciler

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
)

// Condition says in the parent's status what became of an emission: True when
// every intent stands, Unknown while an object is waited for, False otherwise,
// with a reason from a fixed set and a message that stays the same as long as the
// trouble does. Set it with meta.SetStatusCondition, which keeps
// lastTransitionTime while the status does not change.
func Condition(conditionType string, generation int64, applied Applied) metav1.Condition {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionTrue,
		Reason:             "Applied",
		Message:            "every intent stands",
		ObservedGeneration: generation,
	}
	if err := errors.Join(applied.Errs...); err != nil {
		condition.Status = metav1.ConditionFalse
		condition.Reason = reason(err)
		condition.Message = truncated(err.Error())
		return condition
	}
	for _, outcome := range applied.Outcomes {
		if outcome.Action == apply.Absent {
			condition.Status = metav1.ConditionUnknown
			condition.Reason = string(apply.Absent)
			condition.Message = "waiting for the " + outcome.Object.Kind + " to exist"
		}
	}
	return condition
}

func reason(err error) string {
	if errors.Is(err, apply.ErrConflict) {
		return "OwnershipConflict"
	}
	return apply.ResultOf(err)
}

// truncated keeps a message well within the 32 KiB that a condition may have.
func truncated(message string) string {
	const limit = 1024
	if text := []rune(message); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return message
}
