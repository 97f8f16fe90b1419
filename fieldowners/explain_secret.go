package fieldowners

// isSecret knows the kind and, as answers have it, the resource.
func (s Subject) isSecret() bool {
	return IsSecret(s.Group, s.Kind) || s.Group == "" && s.Kind == "secrets"
}

// hideKnown gives what is shown instead of a value, a null too; that there is none may be
// shown.
func hideKnown(known bool) any {
	if !known {
		return nil
	}
	return Hidden
}
