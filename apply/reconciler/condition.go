package reconciler

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"coapply.dev/apply"
	"coapply.dev/apply/internal/wire"
	"coapply.dev/fieldowners"
	"coapply.dev/internal/command"
)

// Reasons of conditions and events.
const (
	// ReasonOwnershipConflict, also of events: others own fields with other values.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonNameTaken, also of events: an object of the name is someone else's, see
	// apply.ErrNotOurs.
	ReasonNameTaken = "NameTaken"
	// ReasonManagedFieldsUnreadable, of events only: an object has a managed fields entry that
	// cannot be parsed, see apply.Outcome.
	ReasonManagedFieldsUnreadable = "ManagedFieldsUnreadable"
	// ReasonNotAsWanted: everything was applied, and the server has another value of a field,
	// for example because of admission.
	ReasonNotAsWanted = "NotAsWanted"
	// ReasonLeftToOthers: everything was applied, except fields that were relinquished or
	// shared.
	ReasonLeftToOthers = "LeftToOthers"
)

// Condition returns a condition of the parent's status that says what became of an emission:
// True if every intent was applied, Unknown while an object is waited for, otherwise False,
// with a reason from a fixed set and a message that stays the same while the cause does. If it
// is True, the message names fields that have another value at the server or that were left to
// others. Set it with meta.SetStatusCondition, which keeps
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

// landed returns reason and message of a condition about intents that were all applied, for
// fields that have another value at the server or that were left to others.
func landed(outcomes []apply.Outcome) (reason, message string) {
	var differ, left []string
	for _, outcome := range outcomes {
		for _, field := range outcome.Differ {
			differ = append(differ, fmt.Sprintf("of %v %v", outcome.Object, field))
		}
		for _, conflict := range outcome.Conflicts {
			switch conflict.Decision {
			case apply.Relinquish:
				left = append(left, fmt.Sprintf("%s of %v is left to %v", conflict.Path, outcome.Object, conflict.Manager))
			case apply.Share:
				left = append(left, fmt.Sprintf("%s of %v has the value of %v, and is shared with it", conflict.Path, outcome.Object, conflict.Manager))
			}
		}
	}
	reason, message = "Applied", "everything is applied"
	if len(left) > 0 {
		reason = ReasonLeftToOthers
		message = "applied, but for fields that are left to others"
	}
	if len(differ) > 0 {
		reason = ReasonNotAsWanted
		message = "applied, but some fields are not as wanted"
	}
	return reason, truncated(strings.Join(slices.Concat([]string{message}, differ, left), "; "))
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

// messageOf returns the error's message without parts that differ each time, such as a port or
// a count; the log has these.
func messageOf(err error) string {
	retryable, contended, conflict := (*apply.RetryableError)(nil), (*apply.ContendedError)(nil), (*apply.ConflictError)(nil)
	switch {
	case errors.As(err, &retryable):
		return fmt.Sprintf("writing %v failed for the moment", retryable.Object) + failedWebhook(retryable)
	case errors.As(err, &contended):
		return fmt.Sprintf("%v is changed by others all the time", contended.Object)
	case errors.As(err, &conflict):
		return strings.Join(append([]string{err.Error()}, remedies(conflict)...), "; ")
	}
	return err.Error()
}

// failedWebhook returns a message about a webhook that failed and what to do about it, or "".
func failedWebhook(err error) string {
	name := wire.FailedWebhook(err)
	if name == "" {
		return ""
	}
	return fmt.Sprintf(": the API server could not call the admission webhook %q; check that its service runs", name)
}

// truncated cuts a message off well within the 32 KiB that a condition may have.
func truncated(message string) string {
	const limit = 1024
	if text := []rune(message); len(text) > limit {
		return string(text[:limit]) + "…"
	}
	return message
}

// remedies returns for each owner in conflict how its fields become the applier's. It returns no
// step for the applier's own name, as the error has it, nor for a subresource: a command cannot
// decide who should own a status.
func remedies(conflict *apply.ConflictError) (steps []string) {
	if conflict.Subresource != "" {
		return nil
	}
	paths := map[fieldowners.Manager][]fieldowners.Path{}
	var others []fieldowners.Manager
	for _, c := range conflict.Conflicts {
		if c.Decision != apply.Reject || c.Own || c.Path.IsRoot() {
			continue
		}
		if len(paths[c.Manager]) == 0 {
			others = append(others, c.Manager)
		}
		paths[c.Manager] = append(paths[c.Manager], c.Path)
	}
	for _, other := range others {
		steps = append(steps, takeOver(conflict, other, paths[other]))
	}
	return steps
}

// takeOver returns the step for one owner. It depends on how the owner wrote: one that applied
// the fields would apply them again. Without --yes, the command only shows what would move.
func takeOver(conflict *apply.ConflictError, owner fieldowners.Manager, fields []fieldowners.Path) string {
	if owner.Operation == metav1.ManagedFieldsOperationApply {
		return fmt.Sprintf("to let %s set %s, take %s out of what %s applies", conflict.FieldManager, joined(fields), itOrThem(fields), owner.Name)
	}
	object := conflict.Object
	subject := command.Subject{Group: object.Group, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
	migrate := command.Migrate(owner.Name, conflict.FieldManager, fields...)
	return fmt.Sprintf("if %s does not write there any more: %s --yes", owner.Name, strings.Replace(migrate, command.Placeholder, subject.Target(), 1))
}

func itOrThem(fields []fieldowners.Path) string {
	if len(fields) == 1 {
		return "it"
	}
	return "them"
}

// joined returns the first few fields as text.
func joined(fields []fieldowners.Path) string {
	const most = 5
	var texts []string
	for _, path := range fields[:min(most, len(fields))] {
		texts = append(texts, path.String())
	}
	if more := len(fields) - most; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
