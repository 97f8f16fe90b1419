package reconciler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
)

// Reasons of a condition, the first two of an event as well.
const (
	// ReasonOwnershipConflict is where others own fields that are wanted otherwise.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonNameTaken is where an object of a wanted name is someone else's, see apply.ErrNotOurs.
	ReasonNameTaken = "NameTaken"
	// ReasonManagedFieldsUnreadable is of events alone: an object has an entry that nobody
	// can read, see apply.Outcome.
	ReasonManagedFieldsUnreadable = "ManagedFieldsUnreadable"
	// ReasonNotAsWanted is where everything was applied, and the server has a field
	// otherwise, as admission has rewritten it.
	ReasonNotAsWanted = "NotAsWanted"
	// ReasonLeftToOthers is where everything was applied but for fields that are left to
	// others, or have their values: by the decisions Relinquish and Share.
	ReasonLeftToOthers = "LeftToOthers"
	// ReasonShared is where everything was applied, and others own a field too whose next
	// other value would be rejected. The message says how to end that.
	ReasonShared = "Shared"
)

// Condition says in the parent's status what became of an emission: True when
// every intent was applied, Unknown while an object is waited for, False otherwise,
// with a reason from a fixed set and a message that stays the same as long as the
// trouble does. Where it is True the message names the fields that the server has
// otherwise, that were left to others, and that others share at the wanted value:
// another one would be rejected. Set it with meta.SetStatusCondition, which keeps
// lastTransitionTime while the status does not change.
func Condition(conditionType string, generation int64, applied Applied) metav1.Condition {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: generation,
	}
	condition.Reason, condition.Message = landed(applied.Outcomes)
	if err := errors.Join(applied.Errs...); err != nil {
		condition.Status = metav1.ConditionFalse
		condition.Reason = reason(err, applied.Errs)
		condition.Message = message(applied.Errs)
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

func reason(err error, each []error) string {
	switch {
	case errors.Is(err, apply.ErrConflict):
		return ReasonOwnershipConflict
	case errors.Is(err, apply.ErrNotOurs):
		return ReasonNameTaken
	case slices.ContainsFunc(each, terminating):
		return "NamespaceTerminating"
	}
	return apply.ResultOf(err)
}

func message(errs []error) string {
	var parts []string
	for _, err := range errs {
		parts = append(parts, messageOf(err))
	}
	return truncated(strings.Join(parts, "; "))
}

// messageOf leaves out what differs each time, such as a port or a count; the log has it.
func messageOf(err error) string {
	retryable, contended, conflict := (*apply.RetryableError)(nil), (*apply.ContendedError)(nil), (*apply.ConflictError)(nil)
	switch {
	case errors.As(err, &retryable):
		return fmt.Sprintf("writing %v failed for the moment", retryable.Object)
	case errors.As(err, &contended):
		return fmt.Sprintf("%v is changed by others all the time", contended.Object)
	case errors.As(err, &conflict):
		return strings.Join(append([]string{err.Error()}, wayOut(conflict)...), "; ")
	}
	return err.Error()
}

// truncated keeps a message well within the 32 KiB that a condition may have.
func truncated(message string) string {
	const limit = 1024
	if text := []rune(message); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return message
}
