package reconciler

import (
	"fmt"
	"slices"
	"strings"

	"coapply.dev/apply"
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// landed returns reason and message of a condition about intents that were all applied, for
// fields that have another value at the server, that were left to others, or that others share.
func landed(outcomes []apply.Outcome) (reason, message string) {
	var differ, left, shared []string
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
		shared = append(shared, sharing(outcome)...)
	}
	reason, message = "Applied", "everything is applied"
	if len(shared) > 0 {
		reason = ReasonShared
	}
	if len(left) > 0 {
		reason = ReasonLeftToOthers
		message = "applied, but for fields that are left to others"
	}
	if len(differ) > 0 {
		reason = ReasonNotAsWanted
		message = "applied, but some fields are not as wanted"
	}
	return reason, truncated(strings.Join(slices.Concat([]string{message}, differ, left, shared), "; "))
}

// sharing returns texts that say with whom fields of an object are shared, and how to end that.
func sharing(outcome apply.Outcome) (texts []string) {
	paths := map[fieldowners.Manager][]fieldowners.Path{}
	var others []fieldowners.Shared // one for each manager
	for _, field := range outcome.Shared {
		if len(paths[field.With]) == 0 {
			others = append(others, field)
		}
		paths[field.With] = append(paths[field.With], field.Path)
	}
	for _, other := range others {
		fields := paths[other.With]
		texts = append(texts, fmt.Sprintf("%s of %v %s shared with %v, so that another value will be rejected; if %s does not write there any more: %s",
			joined(fields), outcome.Object, are(fields), other.With, other.With.Name, migration(outcome.Object, other.By, other.With, fields)))
	}
	return texts
}

func are(fields []fieldowners.Path) string {
	if len(fields) == 1 {
		return "is"
	}
	return "are"
}

// migration returns the command that makes fields a manager's alone. Without --yes it only
// shows what would move.
func migration(object apply.ObjectRef, to, from fieldowners.Manager, fields []fieldowners.Path) string {
	subject := command.Subject{Group: object.Group, Kind: object.Kind, Namespace: object.Namespace, Name: object.Name}
	return strings.Replace(command.EndSharing(to, from, fields), command.Placeholder, subject.Target(), 1) + " --yes"
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
