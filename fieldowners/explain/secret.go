package explain

import (
	"coapply.dev/fieldowners"
	"coapply.dev/fieldowners/command"
)

// isSecret knows the kind and, as answers have it, the resource.
func isSecret(s command.Subject) bool {
	return fieldowners.IsSecret(s.Group, s.Kind) || s.Group == "" && s.Kind == "secrets"
}

// hideKnown returns what is shown instead of a value, a null too; that there is none may be
// shown.
func hideKnown(known bool) any {
	if !known {
		return nil
	}
	return fieldowners.Hidden
}
