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

// Reasons of the conditions that Condition returns, and of the events that a Reconciler records.
const (
	// ReasonOwnershipConflict is a reason of conditions and events: another field manager owns fields for which an
	// intent has other values, and the policy rejects the conflict.
	ReasonOwnershipConflict = "OwnershipConflict"
	// ReasonNameTaken is a reason of conditions and events: an object with the name in an intent exists already and
	// does not belong to the parent, see apply.ErrNotOurs.
	ReasonNameTaken = "NameTaken"
	// ReasonManagedFieldsUnreadable is a reason of events: an object has a managed fields entry that cannot be parsed,
	// see apply.Outcome.
	ReasonManagedFieldsUnreadable = "ManagedFieldsUnreadable"
	// ReasonNotAsWanted is a reason of conditions: all intents were applied, but the API server stores another value of
	// a field, for example because a mutating webhook changed the value.
	ReasonNotAsWanted = "NotAsWanted"
	// ReasonLeftToOthers is a reason of conditions: all intents were applied, except for fields that the policy left to
	// other field managers (apply.Relinquish, apply.Share).
	ReasonLeftToOthers = "LeftToOthers"
)

// Condition returns a condition for the parent's status that reports the result of applying the parent's intents. The
// condition's status is True if all intents were applied, Unknown while an object that must exist does not exist, and
// otherwise False. The reason is one of a fixed set, and the same cause always has the same message. If the status is
// True, the message names the fields for which the API server stores another value, and the fields that were left to
// other field managers. Set the condition with meta.SetStatusCondition, which changes lastTransitionTime only if the
// status changes.
func Condition(conditionType string, generation int64, applied Applied) metav1.Condition {
	condition := metav1.Condition{
		Type:               conditionType,
		Status:             metav1.ConditionTrue,
		ObservedGeneration: generation,
	}
	condition.Reason, condition.Message = landed(applied.Outcomes)
	if len(applied.Errs) > 0 {
		condition.Status = metav1.ConditionFalse
		condition.Reason, condition.Message = failed(applied.Errs)
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

// landed returns the reason and the message of a condition after all intents were applied.
func landed(outcomes []apply.Outcome) (reason, message string) {
	var differ, left []string
	for _, outcome := range outcomes {
		for _, field := range outcome.Differ {
			differ = append(differ, fmt.Sprintf("in %v, %v", outcome.Object, field))
		}
		for _, conflict := range outcome.Conflicts {
			switch conflict.Decision {
			case apply.Relinquish:
				left = append(left, fmt.Sprintf("%s of %v is left to %v", conflict.Path, outcome.Object, conflict.Manager))
			case apply.Share:
				left = append(left, fmt.Sprintf("%s of %v has the value set by %v, which shares the field with this controller's field manager",
					conflict.Path, outcome.Object, conflict.Manager))
			}
		}
	}
	reason, message = "Applied", "everything is applied"
	if len(left) > 0 {
		reason = ReasonLeftToOthers
		message = "applied, except for fields that are left to other field managers"
	}
	if len(differ) > 0 {
		reason = ReasonNotAsWanted
		message = "applied, but some fields are not as wanted"
	}
	return reason, truncated(strings.Join(slices.Concat([]string{message}, differ, left), "; "))
}

// failed returns the reason and the message of a condition after errors.
func failed(errs []error) (reason, message string) {
	var parts []string
	for _, err := range errs {
		parts = append(parts, messageOf(err))
	}
	message = truncated(strings.Join(parts, "; "))
	switch err := errors.Join(errs...); {
	case errors.Is(err, apply.ErrConflict):
		return ReasonOwnershipConflict, message
	case errors.Is(err, apply.ErrNotOurs):
		return ReasonNameTaken, message
	case slices.ContainsFunc(errs, terminating):
		return "NamespaceTerminating", message
	default:
		return apply.ResultOf(err), message
	}
}

// messageOf returns the message of an error without the parts that change with each attempt, such as a port or a number
// of attempts. The log has the complete message.
func messageOf(err error) string {
	retryable, contended, conflict := (*apply.RetryableError)(nil), (*apply.ContendedError)(nil), (*apply.ConflictError)(nil)
	switch {
	case errors.As(err, &retryable):
		text := fmt.Sprintf("writing %v failed with a transient error and is retried", retryable.Object)
		if webhook := wire.FailedWebhook(retryable); webhook != "" {
			text += fmt.Sprintf(": the API server could not call the admission webhook %q; check that its service runs", webhook)
		}
		return text
	case errors.As(err, &contended):
		return fmt.Sprintf("%v was not written, because other writers changed the object during each attempt; the write is retried", contended.Object)
	case errors.As(err, &conflict):
		return strings.Join(append([]string{err.Error()}, remedies(conflict)...), "; ")
	}
	return err.Error()
}

// messageLimit is the maximum length in bytes of the note of an event. It also limits the message of a condition, for
// which the API would permit 32 KiB.
const messageLimit = 1024

// truncated shortens a message to messageLimit.
func truncated(message string) string {
	if len(message) <= messageLimit {
		return message
	}
	// Cutting the message may leave half a character at its end. ToValidUTF8 removes this half.
	return strings.ToValidUTF8(message[:messageLimit-len("…")], "") + "…"
}

// remedies returns a text for each other owner in a conflict. The text says how a person can make the applier the owner
// of the fields. An entry of the applier's own field manager gets no text, because the error already contains the
// remedy. A conflict on a subresource gets no text, because no command can decide which controller owns a status.
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

// takeOver returns the text of remedies for one other owner. If the owner wrote the fields by Update, the text contains
// a command that moves the fields to the applier. If the owner applied the fields, such a command would not help,
// because the owner would apply them again.
func takeOver(conflict *apply.ConflictError, owner fieldowners.Manager, fields []fieldowners.Path) string {
	these := "these fields"
	if len(fields) == 1 {
		these = "this field"
	}
	if owner.Operation == metav1.ManagedFieldsOperationApply {
		return fmt.Sprintf("to let %s set %s, remove %s from the configuration that %s applies", conflict.FieldManager, joined(fields), these, owner.Name)
	}
	object := conflict.Object
	subject := command.Subject{Group: object.Group, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
	migrate := command.Migrate(owner.Name, conflict.FieldManager, fields...)
	return fmt.Sprintf("if %s no longer writes %s, run: %s --yes", owner.Name, these, strings.Replace(migrate, command.Placeholder, subject.Target(), 1))
}

// joined returns a list of the first five fields as text, followed by the number of the remaining fields.
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
