package fieldowners

import "slices"

// isSecret knows the kind and, as answers have it, the resource.
func (s Subject) isSecret() bool {
	return s.Group == "" && (s.Kind == "Secret" || s.Kind == "secrets")
}

// isSecretAt tells whether what a Secret has at the path must not be shown: it is a
// secret value, lies in one or has one below it.
func isSecretAt(path Path) bool {
	return slices.ContainsFunc(secrets, func(s Path) bool { return path.HasPrefix(s) || s.HasPrefix(path) })
}

// concealKnown gives what is shown instead of a value; that there is none may be
// shown.
func concealKnown(known bool) any {
	if !known {
		return nil
	}
	return concealed
}
