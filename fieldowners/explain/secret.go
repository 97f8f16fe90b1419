package explain

import (
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// isSecret reports whether the subject is a Secret, by its kind or, as in answers, its
// resource.
func isSecret(s command.Subject) bool {
	return fieldowners.IsSecret(s.Group, s.Kind) || s.Group == "" && s.Kind == "secrets"
}

// hideKnown returns what is shown instead of a value, also for null; nil if there is no value.
func hideKnown(known bool) any {
	if !known {
		return nil
	}
	return fieldowners.Hidden
}
