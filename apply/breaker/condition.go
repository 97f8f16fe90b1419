package breaker

import (
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
)

// ReasonFight is the reason of the condition Contended and of the event about an open Breaker: two
// field managers take a field from each other again and again.
const ReasonFight = "OwnershipFight"

// ConditionContended is the type of the condition that Condition returns.
const ConditionContended = "Contended"

// Condition returns the condition Contended of a parent, for its status. It is True while the
// Breaker stops a force, with the fields and the other owners. errs are the errors of the parent's
// applies, such as reconciler.Applied.Errs.
func Condition(generation int64, errs []error) metav1.Condition {
	var fields []string
	for _, err := range errs {
		conflict := (*apply.ConflictError)(nil)
		if !errors.As(err, &conflict) {
			continue
		}
		for _, c := range conflict.Conflicts {
			if open := (*OpenError)(nil); errors.As(c.Refused, &open) {
				fields = append(fields, open.Message())
			}
		}
	}
	condition := metav1.Condition{Type: ConditionContended, ObservedGeneration: generation,
		Status: metav1.ConditionFalse, Reason: "NotContended", Message: "no field is taken back again and again"}
	if len(fields) > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, ReasonFight, truncated(strings.Join(fields, ". "))
	}
	return condition
}

// truncated returns a message within the 32 KiB that a condition may have.
func truncated(message string) string {
	const limit = 4096
	if text := []rune(message); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return message
}
